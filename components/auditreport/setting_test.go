// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// hardenedPolicy is the file of profile hardened.
func hardenedPolicy(t testing.TB) []byte {
	t.Helper()
	data, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parsePolicy(t testing.TB, data []byte) *configuration.Configuration {
	t.Helper()
	policy, err := configuration.Parse(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return policy
}

func defaults() *installation.Installation {
	return &installation.Installation{APIVersion: installation.APIVersion, Kind: installation.Kind}
}

// write returns a write of node worker-1.
func write(resource string, object, old runtime.Object) admission.Attributes {
	kind := map[string]string{"nodes": "Node", "pods": "Pod"}[resource]
	op, namespace, name := admission.Create, "", "worker-1"
	if old != nil {
		op = admission.Update
	}
	if pod, ok := object.(*corev1.Pod); ok {
		namespace, name = pod.Namespace, pod.Name
	}
	return admission.NewAttributesRecord(object, old, schema.GroupVersionKind{Version: "v1", Kind: kind}, namespace, name,
		schema.GroupVersionResource{Version: "v1", Resource: resource}, "", op, nil, false,
		&user.DefaultInfo{Name: "system:node:worker-1", Groups: []string{"system:nodes"}})
}

// review returns what node-restriction reports under a policy.
func review(t *testing.T, policy *configuration.Configuration, modes map[rules.ID]rules.Mode,
	a admission.Attributes) []rules.Finding {
	t.Helper()
	r := noderestriction.New(noderestriction.Config{
		Cluster: noCluster{uid: "uid"}, Features: noderestriction.DefaultFeatures(), Modes: modes, AuditOnly: true,
		Configuration: func() *configuration.Configuration { return policy },
	})
	return r.Review(t.Context(), a).AsFinding(rules.Allow).Findings
}

func workerNode(edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: map[string]string{
		corev1.LabelHostname: "worker-1"}}}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func label(keys ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, key := range keys {
			n.Labels[key] = "x"
		}
	}
}

func mirrorPod(edit func(*corev1.Pod)) *corev1.Pod {
	yes := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "static-worker-1",
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "hash"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "worker-1", UID: "uid",
				Controller: &yes}}},
		Spec: corev1.PodSpec{NodeName: "worker-1"},
	}
	edit(pod)
	return pod
}

// TestPrintedSettingAdmitsTheWrite takes the message from the rule itself. With the setting of the
// report, the same rule must admit the same write.
func TestPrintedSettingAdmitsTheWrite(t *testing.T) {
	annotation := func(n *corev1.Node) { n.Annotations = map[string]string{"Example.com/rack": "x"} }
	taint := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "example.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	for _, tc := range []struct {
		rule    rules.ID
		write   admission.Attributes
		setting string
	}{
		{"NR-LABEL-1", write("nodes", workerNode(label("example.com/rack", "a")), nil),
			`nodePolicy: {allowedLabels: ["a", "example.com/rack"]}`},
		{"NR-LABEL-2", write("nodes", workerNode(label("example.com/rack")), workerNode()),
			`nodePolicy: {allowedLabels: ["example.com/rack"]}`},
		{"NR-LABEL-4", write("nodes", workerNode(), workerNode(label("topology.example.com/zone"))),
			`nodePolicy: {changeableLabels: ["topology.example.com/zone"]}`},
		{"NR-TAINT-1", write("nodes", workerNode(taint), nil), `nodePolicy: {allowedTaints: ["example.com/gpu"]}`},
		{"NR-ANNOTATION-1", write("nodes", workerNode(annotation), nil),
			`nodePolicy: {nodeAnnotations: ["Example.com/rack"]}`},
		{"NR-ANNOTATION-1", write("nodes", workerNode(annotation), workerNode()),
			`nodePolicy: {nodeAnnotations: ["Example.com/rack"]}`},
		{"NR-MIRROR-3", write("pods", mirrorPod(func(p *corev1.Pod) { p.Labels = map[string]string{"k8s-app": "x"} }), nil),
			`remove ["k8s-app"] from nodePolicy.mirrorPods.deniedLabelKeys`},
		{"NR-MIRROR-4", write("pods", mirrorPod(func(p *corev1.Pod) { p.Annotations["example.com/a"] = "x" }), nil),
			`nodePolicy: {mirrorPods: {allowedAnnotations: ["example.com/a"]}}`},
		{"NR-NODESPEC-1", write("nodes", workerNode(func(n *corev1.Node) { n.Spec.PodCIDR = "10.0.0.0/24" }), nil),
			`rules: {modes: {NR-NODESPEC-1: audit}}`},
	} {
		t.Run(string(tc.rule)+" "+string(tc.write.GetOperation()), func(t *testing.T) {
			policy := parsePolicy(t, hardenedPolicy(t))
			e := entryOf(t, tc.rule, review(t, policy, noderestriction.Modes(rules.Enforce), tc.write))
			if len(e.Setting.Fields) != 1 || e.Setting.Fields[0].String() != tc.setting || e.Setting.Incomplete {
				t.Fatalf("setting %v (incomplete %v), want %s", e.Setting.Fields, e.Setting.Incomplete, tc.setting)
			}
			policy, modes := merged(t, defaults(), e)
			for _, f := range review(t, policy, modes, tc.write) {
				if f.Rule == tc.rule && modes[f.Rule] != rules.Audit {
					t.Errorf("with the setting: %s [%s]", f.Message, f.Rule)
				}
			}
		})
	}
}

// entryOf returns the entry of a rule for these findings.
func entryOf(t *testing.T, rule rules.ID, findings []rules.Finding) Entry {
	t.Helper()
	var r Report
	for _, f := range findings {
		r.Add(Finding{Rule: f.Rule, User: "system:node:worker-1", Verb: "create", Reason: f.Message})
	}
	for _, e := range r.Entries() {
		if e.Rule == rule {
			return e
		}
	}
	t.Fatalf("no finding of %s in %v", rule, findings)
	return Entry{}
}

// merged returns what node-restriction has with the merged Installation.
func merged(t *testing.T, base *installation.Installation, entries ...Entry) (*configuration.Configuration,
	map[rules.ID]rules.Mode) {
	t.Helper()
	c, skipped, err := Merge(base, hardenedPolicy(t), entries)
	if err != nil || len(skipped) > 0 {
		t.Fatalf("error %v, skipped %v", err, skipped)
	}
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := installation.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if parsed.Mode != "enforce" {
		t.Errorf("mode %q", parsed.Mode)
	}
	modes, problems := rules.ParseModes(noderestriction.Rules, rules.Enforce, parsed.Rules.Modes)
	if len(problems) > 0 {
		t.Error(problems)
	}
	policy, err := parsed.Policy()
	if err != nil {
		t.Fatal(err)
	}
	if policy == nil {
		policy = hardenedPolicy(t)
	}
	return parsePolicy(t, policy), modes
}

// TestEveryRuleHasASettingOrARemedy also checks that the settings are valid.
func TestEveryRuleHasASettingOrARemedy(t *testing.T) {
	var r Report
	for _, rule := range allRules {
		r.Add(Finding{Rule: rule.ID, User: "u", Verb: "get", Resource: "nodes"})
	}
	r.Add(Finding{Rule: StaleToken, User: "u", Verb: "get"})
	entries := r.Entries()
	if len(entries) != len(allRules)+1 || r.Omitted() != 0 {
		t.Errorf("%d entries for %d rules, %d omitted", len(entries), len(allRules), r.Omitted())
	}
	c, skipped, err := Merge(defaults(), hardenedPolicy(t), entries)
	if err != nil || len(skipped) > 0 {
		t.Fatalf("error %v, skipped %v", err, skipped)
	}
	for _, e := range entries {
		rule, _ := rules.Find(allRules, e.Rule)
		_, isList := listFields[e.Rule]
		switch {
		case len(e.Setting.Fields) == 0 && e.Setting.Remedy == "":
			t.Errorf("%s has no setting and no remedy", e.Rule)
		case strings.HasPrefix(e.Setting.Remedy, "This version of bulkhead does not know"):
			t.Errorf("%s has no remedy of its own", e.Rule)
		case rule.Optional && !rule.Audited && e.Rule != "NA-REVOKE-1" && c.Rules.Modes[string(e.Rule)] != "audit":
			t.Errorf("%s is optional, and has the setting %v", e.Rule, e.Setting.Fields)
		case !rule.Optional && c.Rules.Modes[string(e.Rule)] != "":
			t.Errorf("%s is not optional, and has the setting %v", e.Rule, e.Setting.Fields)
		case isList && !rule.Optional && !e.Setting.Incomplete:
			t.Errorf("%s: without a message, the list of keys is not complete", e.Rule)
		}
	}
	if text, err := c.Marshal(); err != nil {
		t.Error(err)
	} else if _, err := installation.Parse(text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
