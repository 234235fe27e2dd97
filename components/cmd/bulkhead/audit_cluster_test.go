// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// mirrorOf makes a pod a mirror pod.
func mirrorOf(pod *corev1.Pod) *corev1.Pod {
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	return pod
}

func renamed(pod *corev1.Pod, name string) *corev1.Pod {
	pod.Name = name
	return pod
}

// staticPod is the mirror pod of a static pod of Bulkhead.
func staticPod(component, node string, restarts int32) *corev1.Pod {
	yes := true
	return mirrorOf(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bulkhead-" + component + "-" + node,
			Labels:          map[string]string{"app.kubernetes.io/part-of": "bulkhead"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: node, Controller: &yes}}},
		Spec:   corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: component}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: component, RestartCount: restarts}}},
	})
}

// proxyPod is a pod of the DaemonSet.
func proxyPod(node string) *corev1.Pod {
	pod := renamed(staticPod(proxyContainer, node, 0), "proxy-"+node)
	pod.Annotations = nil
	pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name = "DaemonSet", "bulkhead-kubelet-auth-proxy"
	return pod
}

func nodeObject(name string, labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, label := range labels {
		n.Labels[label] = ""
	}
	return n
}

func controlPlaneNode(name string) *corev1.Node {
	return nodeObject(name, "node-role.kubernetes.io/control-plane")
}

// opened returns logs by pod. The name of a previous log ends in /previous.
func opened(logs map[string]string) func(context.Context, podLog, time.Duration) (io.ReadCloser, error) {
	return func(_ context.Context, l podLog, _ time.Duration) (io.ReadCloser, error) {
		name := l.pod
		if l.previous {
			name += "/previous"
		}
		text, ok := logs[name]
		if !ok {
			return nil, errors.New("the kubelet\x1b does not answer")
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
}

// reader reads logs of the pods in a cluster with these objects.
func reader(logs map[string]string, objects ...runtime.Object) *podLogs {
	return &podLogs{client: fake.NewClientset(objects...), since: time.Hour, progress: io.Discard,
		report: &auditreport.Report{}, open: opened(logs), first: complete}
}

func logsOf(t *testing.T, logs map[string]string, objects ...runtime.Object) (*auditreport.Report, []string, error) {
	t.Helper()
	p := reader(logs, objects...)
	_, problems, err := p.read(t.Context())
	return p.report, problems, err
}

// hostPod is on the host network, and an environment variable has the address of a kubelet.
func hostPod(name, address string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "logging", Name: name},
		Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "c",
			Env: []corev1.EnvVar{{Name: "KUBELET", Value: "https://" + address + "/pods"}}}}}}
}

func TestLoopbackClientsAreFindings(t *testing.T) {
	var report auditreport.Report
	client := fake.NewClientset(hostPod("agent", "127.0.0.1:10250"), hostPod("good", "10.0.0.1:10250"))
	if notes := addLoopbackClients(t.Context(), client, &report); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	entries := report.Entries()
	if len(entries) != 1 || entries[0].Rule != "KA-LOOPBACK-1" ||
		!slices.Equal(entries[0].FirstUsers, []string{"Pod logging/agent"}) {
		t.Fatalf("%+v", entries)
	}
	policy, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	if err != nil {
		t.Fatal(err)
	}
	base := &installation.Installation{APIVersion: installation.APIVersion, Kind: installation.Kind}
	merged, skipped, err := auditreport.Merge(base, policy, entries)
	if err != nil || len(skipped) > 0 || merged.KubeletAPI.LoopbackClients != "allow" {
		t.Errorf("error %v, skipped %v, loopbackClients %q", err, skipped, merged.KubeletAPI.LoopbackClients)
	}
}

// A compromised node can create a mirror pod with this address. The setting applies to all nodes.
func TestStaticPodsThatUseTheLoopbackAreNotes(t *testing.T) {
	var report auditreport.Report
	pod := mirrorOf(hostPod("fake-worker-7", "127.0.0.1:10250"))
	pod.Spec.NodeName = "worker-7"
	notes := addLoopbackClients(t.Context(), fake.NewClientset(pod), &report)
	if len(report.Entries()) > 0 {
		t.Errorf("the report has a setting for all nodes: %+v", report.Entries())
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "Pod logging/fake-worker-7 on node worker-7") ||
		!strings.Contains(notes[0], "bulkhead node install --loopback-clients=allow") {
		t.Errorf("notes %q", notes)
	}
}

// No setting helps a client of [::1], so it is a note. Who creates pods chooses the names of owners.
func TestClientsOfTheIPv6LoopbackAreNotes(t *testing.T) {
	var report auditreport.Report
	pod := hostPod("agent", "[::1]:10250")
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "x\x1b[2J", Name: "y\nNote: ok", Controller: &yes}}
	notes := addLoopbackClients(t.Context(), fake.NewClientset(pod), &report)
	if len(notes) != 1 || !strings.Contains(notes[0], "use the node's address") ||
		strings.ContainsAny(notes[0], "\x1b\n") || len(report.Entries()) > 0 {
		t.Errorf("notes %q, entries %v", notes, report.Entries())
	}
}

func TestLoopbackClientsThatCannotBeListed(t *testing.T) {
	var report auditreport.Report
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("not allowed")
	})
	notes := addLoopbackClients(t.Context(), client, &report)
	if len(notes) != 1 ||
		!strings.Contains(notes[0], "cannot look for clients of 127.0.0.1:10250: cannot list pods: not") ||
		len(report.Entries()) > 0 {
		t.Errorf("notes %q, entries %v", notes, report.Entries())
	}
}

func TestLogsOfPods(t *testing.T) {
	report, problems, err := logsOf(t, map[string]string{
		"bulkhead-node-restriction-a": registrationLine, "bulkhead-node-restriction-a/previous": registrationLine,
		"bulkhead-node-authorizer-a": secretsLine,
	},
		controlPlaneNode("a"), staticPod("node-restriction", "a", 1), staticPod("node-authorizer", "a", 1),
		proxyPod("x"), staticPod("certs", "a", 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 1 || problems[0] != "cannot read the log of pod proxy-x: the kubelet\ufffd does not answer" {
		t.Errorf("problems %q", problems)
	}
	entries := report.Entries()
	if len(entries) != 2 || entries[0].Requests != 2 {
		t.Errorf("entries %+v", entries)
	}
}

func TestNoPods(t *testing.T) {
	if _, _, err := logsOf(t, nil); err == nil || !strings.Contains(err.Error(), "bulkhead install --mode=audit") {
		t.Errorf("error %v", err)
	}
	_, _, err := logsOf(t, nil, controlPlaneNode("a"), staticPod("node-authorizer", "a", 0))
	if err == nil || !strings.Contains(err.Error(), "cannot read the log of any pod") {
		t.Errorf("error %v", err)
	}
	_, _, err = logsOf(t, nil, controlPlaneNode("a"), staticPod("node-authorizer", "a", 3))
	if err == nil || !strings.Contains(err.Error(), "cannot read the log of any pod") {
		t.Errorf("error %v", err)
	}
	_, _, err = logsOf(t, nil, nodeObject("a"), staticPod("node-authorizer", "a", 0))
	if err == nil || !strings.Contains(err.Error(), "these pods look like pods of Bulkhead, but a node may have") {
		t.Errorf("error %v", err)
	}
}

// complete is for logs that begin with their container.
func complete(context.Context, podLog) (time.Time, error) { return time.Time{}, nil }

// A report without the log of a webhook must not look complete. A proxy may be waiting for
// `bulkhead node install`.
func TestMissingLogsMakeTheReportIncomplete(t *testing.T) {
	for _, tt := range []struct {
		missing string
		want    bool
	}{{"", false}, {"node-restriction", true}, {"node-authorizer", true}, {"kubelet-auth-proxy", false}} {
		logs, objects := map[string]string{}, []runtime.Object{controlPlaneNode("a")}
		for _, pod := range []*corev1.Pod{staticPod("node-restriction", "a", 0), staticPod("node-authorizer", "a", 0),
			proxyPod("a")} {
			objects = append(objects, pod)
			if pod.Spec.Containers[0].Name != tt.missing {
				logs[pod.Name] = ""
			}
		}
		p := reader(logs, objects...)
		if _, _, err := p.read(t.Context()); err != nil || p.incomplete != tt.want {
			t.Errorf("without the log of %q: incomplete %v, want %v; %v", tt.missing, p.incomplete, tt.want, err)
		}
	}
}
