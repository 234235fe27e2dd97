// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestManyKeysAreIncomplete(t *testing.T) {
	var keys []string
	for _, c := range "abcdefghijkl" {
		keys = append(keys, "example.com/"+string(c))
	}
	e := entryOf(t, "NR-LABEL-1", review(t, parsePolicy(t, hardenedPolicy(t)), nil,
		write("nodes", workerNode(label(keys...)), nil)))
	if !e.Setting.Incomplete || len(e.Setting.Fields[0].Add) != 10 {
		t.Errorf("setting %+v", e.Setting)
	}
}

// oneNamespace has the namespace of the mirror pods, without a list of labels.
type oneNamespace struct{ noCluster }

func (oneNamespace) Namespace(context.Context, string) (*corev1.Namespace, error) {
	return &corev1.Namespace{}, nil
}

func TestNamespacesOfMirrorPods(t *testing.T) {
	policy := parsePolicy(t, hardenedPolicy(t))
	r := noderestriction.New(noderestriction.Config{Cluster: oneNamespace{noCluster{uid: "uid"}}, AuditOnly: true,
		Configuration: func() *configuration.Configuration { return policy }})
	pod := mirrorPod(func(p *corev1.Pod) { p.Labels = map[string]string{"tier": "x"} })
	d := r.Review(t.Context(), write("pods", pod, nil))
	var report Report
	for _, f := range d.Findings {
		report.Add(Finding{Rule: f.Rule, User: "u", Verb: "create", Namespace: "ns", Reason: f.Message})
	}
	want := map[rules.ID]string{
		"NR-MIRROR-1": "Run `kubectl annotate namespace ns node.kubernetes.io/mirror.allowed=true`.",
		"NR-MIRROR-2": "Add the labels tier to the annotation node.kubernetes.io/mirror.allowed-label-keys of namespace ns.",
	}
	for _, e := range report.Entries() {
		if !strings.HasPrefix(e.Setting.Remedy, want[e.Rule]) || e.Setting.Incomplete {
			t.Errorf("%s: %+v", e.Rule, e.Setting)
		}
		delete(want, e.Rule)
	}
	if len(want) > 0 {
		t.Errorf("no finding of %v in %v", want, d.Findings)
	}
}

func TestKeysThatAreNotKeysAreLeftOut(t *testing.T) {
	keys, complete := keysIn("NR-LABEL-1", "node \"a\" is not allowed to set the following labels: ok/a, b\"]: x, c…")
	if strings.Join(keys, " ") != "ok/a" || complete {
		t.Errorf("keys %q, complete %v", keys, complete)
	}
}

func TestNamespaceInACommandIsValid(t *testing.T) {
	var r Report
	r.Add(Finding{Rule: "NR-MIRROR-1", User: "u", Verb: "create", Namespace: "a; reboot"})
	if remedy := r.Entries()[0].Setting.Remedy; strings.Contains(remedy, "reboot") {
		t.Error(remedy)
	}
}
