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

func bulkheadPod(name, container string, restarts int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name,
			Labels: map[string]string{"app.kubernetes.io/part-of": "bulkhead"}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: container}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, RestartCount: restarts}}},
	}
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

func logsOf(t *testing.T, logs map[string]string, pods ...runtime.Object) (*auditreport.Report, []string, error) {
	t.Helper()
	var report auditreport.Report
	p := podLogs{client: fake.NewClientset(pods...), since: time.Hour, progress: io.Discard, report: &report,
		open: opened(logs), first: complete}
	_, problems, err := p.read(t.Context())
	return &report, problems, err
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
	if len(notes) != 1 || !strings.Contains(notes[0], "cannot look for clients of 127.0.0.1:10250: cannot list pods: not") ||
		len(report.Entries()) > 0 {
		t.Errorf("notes %q, entries %v", notes, report.Entries())
	}
}

func TestLogsOfPods(t *testing.T) {
	report, problems, err := logsOf(t, map[string]string{
		"bulkhead-node-restriction-a": registrationLine, "bulkhead-node-restriction-a/previous": registrationLine,
		"bulkhead-node-authorizer-a": secretsLine,
	},
		bulkheadPod("bulkhead-node-restriction-a", "node-restriction", 1),
		bulkheadPod("bulkhead-node-authorizer-a", "node-authorizer", 1),
		bulkheadPod("proxy-x", "kubelet-auth-proxy", 0), bulkheadPod("bulkhead-certs-a", "certificate-rotator", 0))
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
	_, _, err := logsOf(t, nil, bulkheadPod("a", "node-authorizer", 0))
	if err == nil || !strings.Contains(err.Error(), "cannot read the log of any pod") {
		t.Errorf("error %v", err)
	}
	_, _, err = logsOf(t, nil, bulkheadPod("a", "node-authorizer", 3))
	if err == nil || !strings.Contains(err.Error(), "cannot read the log of any pod") {
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
		logs := map[string]string{}
		var pods []runtime.Object
		for _, name := range []string{"node-restriction", "node-authorizer", "kubelet-auth-proxy"} {
			pods = append(pods, bulkheadPod(name, name, 0))
			if name != tt.missing {
				logs[name] = ""
			}
		}
		p := podLogs{client: fake.NewClientset(pods...), since: time.Hour, progress: io.Discard,
			report: &auditreport.Report{}, open: opened(logs), first: complete}
		if _, _, err := p.read(t.Context()); err != nil || p.incomplete != tt.want {
			t.Errorf("without the log of %q: incomplete %v, want %v; %v", tt.missing, p.incomplete, tt.want, err)
		}
	}
}
