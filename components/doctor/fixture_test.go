// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

const (
	image  = "registry.example/bulkhead:v1"
	server = "registry.k8s.io/kube-apiserver:v1.37.0"
	wired  = `kind: ClusterConfiguration
apiServer:
  extraArgs:
  - {name: authorization-config, value: /etc/kubernetes/bulkhead/apiserver/authorization.yaml}
  - {name: admission-control-config-file, value: /etc/kubernetes/bulkhead/apiserver/admission.yaml}
`
)

// testCluster is a cluster that a test changes in one place. It is also the API server.
type testCluster struct {
	now       time.Time
	nodes     map[string]*corev1.Node
	pods      map[string]*corev1.Pod
	entries   map[string]*hosts.Host
	configs   map[string]map[string]string
	daemonSet *appsv1.DaemonSet
	more      []runtime.Object
	proxied   []string
	// certificates are the certificates of each host.
	certificates map[string][]pki.Status
	noExec       bool
	objects      map[string]*unstructured.Unstructured
	applied      []string
	version      string
	process      cluster.Process
	decision     cluster.Decision
	scopes       []Scope
	metrics      string
	// denied are resources that the credentials may not read.
	denied []string
	client *fake.Clientset
	// kubelets is what a node answers kube-apiserver. A node without an entry is healthy.
	kubelets map[string]http.HandlerFunc
}

// newTestCluster returns the hosts cp1 and cp2 and the worker w1. Everything is as it should be.
func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	ca := string(testpki.NewCA(t, "kubernetes").Issue(t, subject0, 0, lasts(now.AddDate(1, 0, 0))).Certificate)
	c := &testCluster{now: now, nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{},
		entries: map[string]*hosts.Host{}, certificates: map[string][]pki.Status{},
		objects: map[string]*unstructured.Unstructured{}, version: "v1.37.2",
		metrics: "serviceaccount_stale_tokens_total 0\n",
		process: cluster.Process{AdmissionHash: "sha256:aa"}, decision: cluster.Decision{Reason: "no rule [NA-DEFAULT]"},
		configs: map[string]map[string]string{"kubeadm-config": {"ClusterConfiguration": wired},
			"extension-apiserver-authentication": {"client-ca-file": ca}, "kube-root-ca.crt": {"ca.crt": ca}}}
	for _, name := range []string{"cp1", "cp2", "w1"} {
		c.addNode(name)
	}
	for _, name := range []string{"cp1", "cp2"} {
		c.addHost(name)
	}
	c.daemonSet = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system",
		Name: "bulkhead-kubelet-auth-proxy"}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 3,
		UpdatedNumberScheduled: 3, NumberReady: 3}}
	c.daemonSet.Spec.Template.Spec.Containers = []corev1.Container{{Name: host.KubeletAuthProxy, Image: image}}
	objects, err := controlplane.SharedObjects(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		c.objects[keyOf(object)] = object
	}
	return c
}

// addNode adds a ready Node whose kubelet is behind its proxy.
func (c *testCluster) addNode(name string) {
	c.nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	c.proxied = append(c.proxied, name)
	pod := c.addPod("proxy-"+name, "kubelet-auth-proxy", name, image)
	pod.Labels = map[string]string{"app.kubernetes.io/component": "kubelet-auth-proxy"}
}

// addHost makes a node a control-plane host with Bulkhead.
func (c *testCluster) addHost(name string) {
	c.nodes[name].Labels["node-role.kubernetes.io/control-plane"] = ""
	c.entries[name] = &hosts.Host{Version: "v1", Profile: "hardened", Mode: hosts.Enforce, Image: image, ConfigHash: "cc",
		Modes: "enforce", Wiring: "dd", VerifyKubelets: true}
	for _, component := range []string{"node-authorizer", "node-restriction", "certs"} {
		c.addMirror("bulkhead-"+component, component, name, image)
	}
	api := c.addMirror("kube-apiserver", "kube-apiserver", name, server)
	api.Spec.Containers[0].Command = []string{"kube-apiserver",
		"--authorization-config=/etc/kubernetes/bulkhead/apiserver/authorization.yaml",
		"--admission-control-config-file=/etc/kubernetes/bulkhead/apiserver/admission.yaml",
		"--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt"}
	c.certificates[name] = []pki.Status{{Name: "apiserver-client", NotAfter: c.now.AddDate(0, 2, 0)},
		{Name: clusterstatus.AuthorityName, NotAfter: c.now.AddDate(9, 0, 0)}}
}

func (c *testCluster) addMirror(name, container, node, image string) *corev1.Pod {
	pod := c.addPod(name+"-"+node, container, node, image)
	pod.Labels = map[string]string{"tier": "control-plane"}
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	return pod
}

func (c *testCluster) addPod(name, container, node, image string) *corev1.Pod {
	c.pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: container, Image: image}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: container}}}}
	return c.pods[name]
}

func keyOf(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

func (c *testCluster) Version(context.Context) (string, error) {
	if c.version == "" {
		return "", errors.New("connection refused")
	}
	return c.version, nil
}
func (c *testCluster) Process(context.Context) (cluster.Process, error) { return c.process, nil }
func (c *testCluster) CanaryDecision(context.Context) (cluster.Decision, error) {
	return c.decision, nil
}

func (c *testCluster) Get(_ context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.objects[keyOf(o)], nil
}

func (c *testCluster) Apply(_ context.Context, o *unstructured.Unstructured) error {
	c.objects[keyOf(o)] = o
	c.applied = append(c.applied, keyOf(o))
	return nil
}

func (c *testCluster) options() Options {
	data := map[string]string{}
	for name, entry := range c.entries {
		data[name], _ = entry.Encode()
	}
	c.configs["bulkhead-hosts"] = data
	objects := slices.Clone(c.more)
	for name, data := range c.configs {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
			Data: data})
	}
	for _, node := range c.nodes {
		objects = append(objects, node)
	}
	for _, pod := range c.pods {
		objects = append(objects, pod)
	}
	if c.daemonSet != nil {
		objects = append(objects, c.daemonSet)
	}
	c.client = fake.NewClientset(objects...)
	for _, resource := range c.denied {
		c.client.PrependReactor("*", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New(resource + " is forbidden")
		})
	}
	c.reviewRights()
	now := func() time.Time { return c.now }
	o := Options{Client: c.client, Server: c, Version: "v1", Now: now, Status: clusterstatus.Options{Client: c.client,
		ProxiedNodes: func(context.Context) ([]string, error) { return c.proxied, nil }, Exec: c.exec,
		Layout: host.DefaultLayout(), HostTimeout: time.Minute, Now: now},
		Metrics: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(c.metrics)), nil },
		Scopes:  func(context.Context) ([]Scope, error) { return c.scopes, nil }}
	if c.noExec {
		o.Status.Exec = nil
	}
	return o
}

func (c *testCluster) exec(_ context.Context, pod, _ string, _ []string) ([]byte, error) {
	all, known := c.certificates[strings.TrimPrefix(pod, "bulkhead-certs-")]
	if !known {
		return nil, errors.New("container not found")
	}
	return json.Marshal(all)
}

func (c *testCluster) run(t *testing.T) *Report {
	t.Helper()
	report, err := Run(t.Context(), c.options())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// lines returns the findings as SEVERITY|CHECK|NAMES|PROBLEM.
func lines(r *Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, fmt.Sprintf("%s|%s|%s|%s", f.Severity, f.Check, strings.Join(f.Names, ","), f.Problem))
	}
	return all
}

// expect compares the findings with the beginnings of their lines.
func expect(t *testing.T, r *Report, want ...string) {
	t.Helper()
	if got := lines(r); !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("findings:\n%s\nwant lines that begin with:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, f := range r.Findings {
		if f.Means == "" || f.Repair == "" {
			t.Errorf("%q does not say what it means (%q) or what to do (%q)", f.Problem, f.Means, f.Repair)
		}
	}
}
