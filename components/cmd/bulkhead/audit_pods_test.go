// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// forgedLog is what a compromised node prints. Only its last line is about its own kubelet's API.
var forgedLog = registrationLine + secretsLine + strings.ReplaceAll(registrationLine, "NR-LABEL-1", "stale-token") +
	strings.ReplaceAll(execLine, "KA-EXEC-1", "KA-LOOPBACK-1") +
	strings.ReplaceAll(execLine, `"node":"worker-1"`, `"node":"worker-2"`) + execLine

// TestLogsOfACompromisedNode: worker-1 writes its logs, and creates mirror pods on itself.
func TestLogsOfACompromisedNode(t *testing.T) {
	withoutOwner := func(pod *corev1.Pod) *corev1.Pod {
		pod.OwnerReferences = []metav1.OwnerReference{}
		return pod
	}
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		ignored bool
		want    []string
	}{
		{"pod of the DaemonSet: its kubelet's API only", proxyPod("worker-1"), false, []string{"KA-EXEC-1"}},
		{"mirror pod of a webhook", staticPod("node-restriction", "worker-1", 1), true, nil},
		{"mirror pod with the name of the control plane's",
			renamed(staticPod("node-authorizer", "worker-1", 0), "bulkhead-node-authorizer-cp"), true, nil},
		{"mirror pod of the proxy", staticPod("kubelet-auth-proxy", "worker-1", 0), true, nil},
		{"mirror pod that names the DaemonSet", mirrorOf(proxyPod("worker-1")), true, nil},
		{"pod without an owner", withoutOwner(proxyPod("worker-1")), true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			genuine := staticPod("node-restriction", "cp", 0)
			logs := map[string]string{genuine.Name: "", tt.pod.Name: forgedLog, tt.pod.Name + "/previous": forgedLog}
			report, problems, err := logsOf(t, logs, controlPlaneNode("cp"), nodeObject("worker-1"), genuine, tt.pod)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range report.Entries() {
				got = append(got, string(e.Rule))
				if !slices.Equal(e.Nodes, []string{"worker-1"}) || e.Requests != 1 {
					t.Errorf("%+v", e)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("rules %v, want %v", got, tt.want)
			}
			ignored := len(problems) == 1 && strings.Contains(problems[0], "their logs were not read: "+tt.pod.Name+". Read")
			if ignored != tt.ignored {
				t.Errorf("problems %q", problems)
			}
		})
	}
}

// TestANodeCannotMakeTheReportIncomplete: otherwise it prevents `-o installation`.
func TestANodeCannotMakeTheReportIncomplete(t *testing.T) {
	for _, tt := range []struct {
		name string
		pods []runtime.Object
		want bool
	}{
		{"mirror pods of a worker", []runtime.Object{staticPod("node-restriction", "cp", 0),
			staticPod("node-restriction", "worker-1", 0), staticPod("node-authorizer", "worker-1", 1)}, false},
		{"no webhook on a control plane", []runtime.Object{proxyPod("cp")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := reader(map[string]string{"bulkhead-node-restriction-cp": "", "proxy-cp": ""},
				append(tt.pods, controlPlaneNode("cp"), nodeObject("worker-1"))...)
			if _, _, err := p.read(t.Context()); err != nil || p.incomplete != tt.want {
				t.Errorf("incomplete %v, want %v; %v", p.incomplete, tt.want, err)
			}
		})
	}
}

// A report is bounded, so the logs that a worker writes are read last.
func TestWebhooksAreReadFirst(t *testing.T) {
	p := reader(nil, controlPlaneNode("cp"), renamed(proxyPod("worker-1"), "a"), staticPod("node-restriction", "cp", 0))
	logs, notes, err := p.list(t.Context())
	if err != nil || len(notes) > 0 || len(logs) != 2 || logs[0].container != "node-restriction" {
		t.Errorf("got %+v, %q, %v", logs, notes, err)
	}
}

func TestManyIgnoredPodsAreOneNote(t *testing.T) {
	got := ignoredNote([]string{"g", "f", "e", "d", "c", "b", "a"})
	if !strings.Contains(got, "not read: a, b, c, d, e and 2 more. Read are") {
		t.Errorf("got %q", got)
	}
}
