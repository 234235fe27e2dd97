// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

// ControlPlaneLabel is the label of the Nodes that run a kube-apiserver. A node cannot set it on itself.
const ControlPlaneLabel = "node-role.kubernetes.io/control-plane"

const (
	// staticPods is the label of kubeadm's and Bulkhead's static pods on control-plane hosts.
	staticPods     = "tier=control-plane"
	proxyDaemonSet = "bulkhead-kubelet-auth-proxy"
	hostsConfigMap = "bulkhead-hosts"
	// apiTimeout bounds the time for all requests to the API server.
	apiTimeout = 30 * time.Second
)

// Options are the sources of a report.
type Options struct {
	Client kubernetes.Interface
	// ProxiedNodes returns the nodes whose kubelet is behind kubelet-auth-proxy, as
	// [cluster.Client.ProxiedNodes] does. A name can be followed by " (", the reason why the state
	// is unknown, and ")".
	ProxiedNodes func(context.Context) ([]string, error)
	// Exec runs `bulkhead certs status` on each host. If it is nil, the report has no certificates.
	Exec Exec
	// Layout has the paths of Bulkhead's files on the hosts.
	Layout host.Layout
	// HostTimeout bounds the time to read the certificates of one host. All hosts are read at the
	// same time.
	HostTimeout time.Duration
	Now         func() time.Time
}

// snapshot is what the API server has.
type snapshot struct {
	nodes     []corev1.Node
	pods      []corev1.Pod
	entries   map[string]hosts.Host
	bad       map[string]error
	kubeadm   string
	daemonSet *appsv1.DaemonSet
}

// Collect reads the state of the cluster and checks it. It returns an error only if the API server
// does not answer, or denies a request. A host that does not answer is a finding.
func Collect(ctx context.Context, o Options) (*Report, error) {
	s, err := read(ctx, o.Client)
	if err != nil {
		return nil, err
	}
	r := &Report{Hosts: s.hosts(o.Layout), KubeadmConfig: kubeadmConfig(s.kubeadm, o.Layout), Proxy: rollout(s.daemonSet)}
	// Both wait for hosts that do not answer, so they run at the same time.
	var wait sync.WaitGroup
	var proxied []string
	wait.Go(func() { proxied, err = o.ProxiedNodes(ctx) })
	if o.Exec != nil {
		readCertificates(ctx, o, s, r.Hosts)
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, cannot("list the nodes with kubelet-auth-proxy", err)
	}
	r.Nodes = s.guards(proxied)
	r.Areas = map[Area][]Finding{
		AreaHosts:        slices.Concat(hostFindings(r.Hosts, o.Layout), s.staleEntries()),
		AreaDrift:        differences(r.Hosts),
		AreaKubeadm:      kubeadmFindings(r),
		AreaKubelets:     s.nodeFindings(r),
		AreaCertificates: certificateFindings(r.Hosts, o.Now()),
	}
	for _, area := range areas {
		r.Findings = append(r.Findings, r.Areas[area]...)
	}
	worst := []preflight.Level{preflight.Fail, preflight.Warn, preflight.OK}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return slices.Index(worst, a.Level) - slices.Index(worst, b.Level)
	})
	return r, nil
}

func read(ctx context.Context, client kubernetes.Interface) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	s := &snapshot{}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, cannot("list Nodes", err)
	}
	s.nodes = nodes.Items
	slices.SortFunc(s.nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: staticPods})
	if err != nil {
		return nil, cannot("list pods in kube-system", err)
	}
	s.pods = pods.Items
	if err := s.readHosts(ctx, client); err != nil {
		return nil, err
	}
	if s.kubeadm, err = (&cluster.Client{Kubernetes: client}).KubeadmConfig(ctx); err != nil {
		return nil, cannot("read ConfigMap kubeadm-config in kube-system", err)
	}
	s.daemonSet, err = client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, proxyDaemonSet, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.daemonSet, err = nil, nil
	}
	if err != nil {
		return nil, cannot("read DaemonSet "+proxyDaemonSet+" in kube-system", err)
	}
	return s, nil
}

func (s *snapshot) readHosts(ctx context.Context, client kubernetes.Interface) error {
	config, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, hostsConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return cannot("read ConfigMap "+hostsConfigMap+" in kube-system", err)
	}
	s.entries, s.bad = hosts.Parse(config.Data)
	return nil
}

func cannot(what string, err error) error {
	return fmt.Errorf("cannot %s: %w; use a kubeconfig of an administrator, and check that its server answers",
		what, err)
}

// controlPlanes returns the names of the nodes that run a kube-apiserver.
func (s *snapshot) controlPlanes() []string {
	var names []string
	for i := range s.nodes {
		if _, is := s.nodes[i].Labels[ControlPlaneLabel]; is {
			names = append(names, s.nodes[i].Name)
		}
	}
	return names
}

// mirrorPod returns the mirror pod of a static pod on a node, or nil if there is none.
func (s *snapshot) mirrorPod(name, node string) *corev1.Pod {
	for i := range s.pods {
		if IsMirrorPod(&s.pods[i], name, node) {
			return &s.pods[i]
		}
	}
	return nil
}

// IsMirrorPod reports whether a pod is the mirror pod of a static pod on a node. The name alone is not
// enough: the kubelet of another node could create a mirror pod with this name.
func IsMirrorPod(pod *corev1.Pod, name, node string) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror && pod.Name == name+"-"+node && pod.Spec.NodeName == node
}
