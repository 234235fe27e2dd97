// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

const (
	image        = "registry.example/bulkhead:v1"
	wiredKubeadm = `kind: ClusterConfiguration
apiServer:
  extraArgs:
  - {name: authorization-config, value: /etc/kubernetes/bulkhead/apiserver/authorization.yaml}
  - {name: admission-control-config-file, value: /etc/kubernetes/bulkhead/apiserver/admission.yaml}
`
	plainKubeadm = "kind: ClusterConfiguration\n"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testCluster is a cluster that a test changes in one place.
type testCluster struct {
	nodes     map[string]*corev1.Node
	pods      map[string]*corev1.Pod
	entries   map[string]string
	kubeadm   string
	daemonSet *appsv1.DaemonSet
	// certificates is what the container of each host prints.
	certificates map[string]string
	proxied      []string
}

// newTestCluster returns the hosts cp1 and cp2 and the worker w1. Everything is as it should be.
func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	c := &testCluster{nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, entries: map[string]string{},
		kubeadm: wiredKubeadm, certificates: map[string]string{}}
	for _, name := range []string{"cp1", "cp2", "w1"} {
		c.addNode(name)
	}
	for _, name := range []string{"cp1", "cp2"} {
		c.nodes[name].Labels[ControlPlaneLabel] = ""
		c.entries[name] = entry(t, func(*hosts.Host) {})
		c.certificates["bulkhead-certs-"+name] = certificates(t, now.AddDate(0, 2, 0), "")
		server := c.mirror("kube-apiserver", "kube-apiserver", name, "registry.k8s.io/kube-apiserver:v1.37.0")
		server.Annotations[apiserver.HashAnnotation] = "aaaa"
		server.Annotations[apiserver.AdmissionHashAnnotation] = "bbbb"
		server.Spec.Containers[0].Command = []string{"kube-apiserver", "--secure-port=6443", "--token-auth-file=topsecret",
			"--authorization-config=/etc/kubernetes/bulkhead/apiserver/authorization.yaml",
			"--admission-control-config-file=/etc/kubernetes/bulkhead/apiserver/admission.yaml",
			"--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt"}
		for _, component := range []string{"node-authorizer", "node-restriction", "certs"} {
			c.mirror("bulkhead-"+component, component, name, image)
		}
		c.pods["bulkhead-certs-"+name].Spec.Containers[0].Command = []string{"/certificate-rotator",
			"--state-dir=/etc/kubernetes/bulkhead", "--kubernetes-pki=/etc/kubernetes/pki", "--cert-validity=2160h",
			"--cert-renew-before=720h", "--v=4"}
	}
	c.daemonSet = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: proxyDaemonSet}}
	c.daemonSet.Spec.Template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
	c.daemonSet.Spec.Template.Spec.Containers = []corev1.Container{{Name: host.KubeletAuthProxy, Image: image}}
	return c
}

// addNode adds a ready Node whose kubelet is behind kubelet-auth-proxy.
func (c *testCluster) addNode(name string) {
	c.nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"kubernetes.io/os": "linux"}}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	c.proxied = append(c.proxied, name)
}

// mirror adds the ready mirror pod of a static pod.
func (c *testCluster) mirror(name, container, node, image string) *corev1.Pod {
	pod := newPod(name+"-"+node, container, node, image)
	pod.Labels["tier"] = "control-plane"
	pod.Annotations[corev1.MirrorPodAnnotationKey] = "hash"
	c.pods[pod.Name] = pod
	return pod
}

func newPod(name, container, node, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{},
			Annotations: map[string]string{}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: container, Image: image}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func breakPod(pod *corev1.Pod) {
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
}

// entry returns an entry with a change.
func entry(t *testing.T, change func(*hosts.Host)) string {
	t.Helper()
	h := hosts.Host{Version: "v1", Profile: "hardened", Mode: hosts.Enforce, Image: image, ConfigHash: "cccccccccccccccc",
		Modes: "enforce", Wiring: "dddddddddddddddd", VerifyKubelets: true}
	change(&h)
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// certificates returns the output of `bulkhead certs status -o json` for one certificate.
func certificates(t *testing.T, notAfter time.Time, due string) string {
	t.Helper()
	out, err := json.Marshal([]pki.Status{{Name: "node-authorizer-client", File: "/f", NotAfter: notAfter, Due: due}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (c *testCluster) options() Options {
	objects := []runtime.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bulkhead-hosts"}, Data: c.entries},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kubeadm-config"},
			Data: map[string]string{"ClusterConfiguration": c.kubeadm}}}
	for _, node := range c.nodes {
		objects = append(objects, node)
	}
	for _, pod := range c.pods {
		objects = append(objects, pod)
	}
	if c.daemonSet != nil {
		objects = append(objects, c.daemonSet)
	}
	return Options{Client: fake.NewClientset(objects...), Exec: c.exec, Layout: host.DefaultLayout(),
		ProxiedNodes: func(context.Context) ([]string, error) { return c.proxied, nil },
		HostTimeout:  time.Minute, Now: func() time.Time { return now }}
}

func (c *testCluster) exec(_ context.Context, pod, container string, _ []string) ([]byte, error) {
	out, known := c.certificates[pod]
	if !known || container != "certs" {
		return nil, errors.New("container not found")
	}
	return []byte(out), nil
}

func (c *testCluster) collect(t *testing.T) *Report {
	t.Helper()
	report, err := Collect(t.Context(), c.options())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// problems returns the findings that are not OK, as lines.
func problems(r *Report) []string {
	var lines []string
	for _, f := range r.Findings {
		if f.Level != preflight.OK {
			lines = append(lines, strings.Join([]string{string(f.Level), f.Where, f.Text}, "|"))
		}
	}
	slices.Sort(lines)
	return lines
}

// expectProblems compares the findings with the beginnings of their lines. Each finding must say
// what to do next.
func expectProblems(t *testing.T, r *Report, want ...string) {
	t.Helper()
	got := problems(r)
	slices.Sort(want)
	same := slices.EqualFunc(got, want, strings.HasPrefix)
	if !same {
		t.Errorf("findings:\n%s\nwant lines that begin with:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, f := range r.Findings {
		if (f.Next == "") != (f.Level == preflight.OK) {
			t.Errorf("next of %q is %q", f.Text, f.Next)
		}
	}
}
