// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// workerNode returns a Node with edits.
func workerNode(name string, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelHostname: name}}}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

// nodeLabel sets a label. If manager is not empty, it owns the label.
func nodeLabel(key, value, manager string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Labels[key] = value
		own(n, manager, fmt.Sprintf(`{"f:metadata":{"f:labels":{".":{},"f:%s":{}}}}`, key))
	}
}

// nodeTaint adds a taint. If manager is not empty, it owns the taints.
func nodeTaint(key, manager string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		own(n, manager, `{"f:spec":{"f:taints":{}}}`)
	}
}

func own(n *corev1.Node, manager, fields string) {
	if manager != "" {
		n.ManagedFields = append(n.ManagedFields,
			metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)})
	}
}

// strictPolicy lists one label and one taint.
func strictPolicy() *configuration.Configuration {
	return &configuration.Configuration{AllowedLabels: configuration.NewKeys("example.com/pool"),
		AllowedTaints: configuration.NewKeys("dedicated")}
}

func tablePolicy(labels map[string]string, taints ...corev1.Taint) *configuration.Configuration {
	policy := strictPolicy()
	policy.Machines = []configuration.Machine{{Name: "n1", Labels: labels, Taints: taints}}
	return policy
}

func TestNodePolicy(t *testing.T) {
	const role = "node-role.kubernetes.io/db"
	sticky := strictPolicy()
	sticky.StickyTaints = configuration.NewKeys("gpu")
	zone := map[string]string{"example.com/zone": "a"}
	gpu := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	for _, tt := range []struct {
		name     string
		policy   *configuration.Configuration
		profile  string
		node     *corev1.Node
		level    Level
		mentions string
	}{
		{"listed label of the kubelet", strictPolicy(), "hardened",
			workerNode("n1", nodeLabel("example.com/pool", "a", "kubelet")), OK,
			"all 1 Nodes"},
		{"unlisted label of the kubelet", strictPolicy(), "hardened",
			workerNode("n1", nodeLabel("example.com/rack", "a", "kubelet")), Fail,
			"`nodePolicy: {allowedLabels: [\"example.com/rack\"]}`. If it has no nodePolicy, first append what " +
				"`bulkhead config print --node-policy` prints"},
		{"unlisted label of a controller", strictPolicy(), "hardened",
			workerNode("n1", nodeLabel("example.com/rack", "a", "kubectl-label")), OK, ""},
		{"unlisted label of an unknown client", strictPolicy(), "hardened",
			workerNode("n1", nodeLabel("example.com/rack", "a", "")), Warn,
			"do not show who set this label"},
		{"unlisted label, no policy", nil, "hardened",
			workerNode("n1", nodeLabel("example.com/rack", "a", "kubelet")), OK, ""},
		{"role of the kubelet, no policy", nil, "hardened",
			workerNode("n1", nodeLabel(role, "", "kubelet")), Fail, "NR-NODE-3"},
		{"role of kubeadm, no policy", nil, "hardened",
			workerNode("n1", nodeLabel(role, "", "kubeadm")), OK, ""},
		{"role of an unknown client, no policy", nil, "hardened",
			workerNode("n1", nodeLabel(role, "", "")), OK, ""},
		{"role of the kubelet, hardened", strictPolicy(), "hardened",
			workerNode("n1", nodeLabel(role, "", "kubelet")), Fail,
			"nodePolicy cannot allow it"},
		{"role of the kubelet, parity", strictPolicy(), "parity",
			workerNode("n1", nodeLabel(role, "", "kubelet")), Fail,
			"allowedLabels: [\"" + role + "\"]"},
		{"listed taint of the kubelet", strictPolicy(), "hardened",
			workerNode("n1", nodeTaint("dedicated", "kubelet")), OK, ""},
		{"unlisted taint of the kubelet", strictPolicy(), "hardened",
			workerNode("n1", nodeTaint("gpu", "kubelet")), Fail,
			"`nodePolicy: {allowedTaints: [\"gpu\"]}`"},
		{"unlisted taint, list owned by the control plane", strictPolicy(), "hardened",
			workerNode("n1", nodeTaint("gpu", "kube-controller-manager")), Warn, "do not show who set this taint"},
		{"taint of the node's condition", strictPolicy(), "hardened",
			workerNode("n1", nodeTaint(corev1.TaintNodeUnreachable, "kube-controller-manager")), OK, ""},
		{"sticky taint", sticky, "hardened",
			workerNode("n1", nodeTaint("gpu", "kubelet")), OK, ""},
		{"taint of kubeadm", strictPolicy(), "hardened",
			workerNode("n1", nodeTaint(controlPlaneKey, "kubeadm"), nodeLabel(controlPlaneKey, "", "kubeadm")), OK, ""},
		{"taint of kubeadm without its label", strictPolicy(), "hardened",
			workerNode("n1", nodeTaint(controlPlaneKey, "kubeadm")), Warn,
			controlPlaneKey},
		{"label of the machine table", tablePolicy(zone), "hardened",
			workerNode("n1", nodeLabel("example.com/zone", "a", "kubelet")), OK, ""},
		{"other value than the machine table", tablePolicy(zone), "hardened",
			workerNode("n1", nodeLabel("example.com/zone", "b", "kubelet")),
			Fail, "nodePolicy.machines"},
		{"taint of the machine table", tablePolicy(nil, gpu), "hardened",
			workerNode("n1", nodeTaint("gpu", "kubelet")), OK, ""},
		{"missing taint of the machine table", tablePolicy(nil, gpu), "hardened", workerNode("n1"), Warn, "gpu:NoSchedule"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := nodePolicyFindings(t.Context(),
				Input{Client: fake.NewClientset(tt.node), Policy: tt.policy, Profile: tt.profile})
			wantOne(t, findings, err, tt.level, tt.mentions)
		})
	}
}

// wantOne checks that there is one finding with the level, which mentions a text.
func wantOne(t *testing.T, findings []Finding, err error, level Level, mentions string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != 1 || findings[0].Level != level || !strings.Contains(findings[0].Detail, mentions) {
		t.Errorf("got %v, want one %s that mentions %q", findings, level, mentions)
	}
}

func TestManyNodesShareOneFinding(t *testing.T) {
	var objects []runtime.Object
	for i := range 600 {
		objects = append(objects, workerNode(fmt.Sprintf("n%03d", i), nodeLabel("b.example.com/x", "1", "kubelet"),
			nodeLabel("a.example.com/x", "1", "kubelet"), nodeLabel("c.example.com/x", "1", "")))
	}
	findings, err := nodePolicyFindings(t.Context(), Input{Client: fake.NewClientset(objects...), Policy: strictPolicy()})
	if err != nil || len(findings) != 2 {
		t.Fatalf("got %v, %v", findings, err)
	}
	const want = "label a.example.com/x, b.example.com/x of node n000, n001, n002 and 597 more: the kubelet set it"
	if findings[0].Level != Fail || !strings.HasPrefix(findings[0].Detail, want) || findings[1].Level != Warn {
		t.Errorf("got %v", findings)
	}
}

func TestManySetsOfKeysAreCounted(t *testing.T) {
	var objects []runtime.Object
	for i := range mostNamed + 5 {
		name := fmt.Sprintf("n%02d", i)
		objects = append(objects, workerNode(name, nodeLabel("example.com/"+name, "", "kubelet")))
	}
	findings, err := nodePolicyFindings(t.Context(), Input{Client: fake.NewClientset(objects...), Policy: strictPolicy()})
	if err != nil || len(findings) != mostNamed+1 || !strings.HasPrefix(findings[mostNamed].Detail, "5 more sets") {
		t.Errorf("got %v, %v", findings, err)
	}
}

// A rule that only audits breaks nothing. The finding says so, and has the setting.
func TestAuditedNodePolicyWarns(t *testing.T) {
	in := Input{Client: fake.NewClientset(workerNode("n1", nodeLabel("example.com/rack", "a", "kubelet"))),
		Policy: strictPolicy(), Profile: "hardened", Modes: map[rules.ID]rules.Mode{"NR-LABEL-1": rules.Enforce}}
	findings, err := nodePolicyFindings(t.Context(), in)
	wantOne(t, findings, err, Fail, "`nodePolicy: {allowedLabels: [\"example.com/rack\"]}`")
	in.Modes["NR-LABEL-1"] = rules.Audit
	findings, err = nodePolicyFindings(t.Context(), in)
	wantOne(t, findings, err, Warn, "before you enforce NR-LABEL-1: label example.com/rack of node n1: the kubelet set it")

	// A rule that is enforced still denies what another one only audits.
	in = Input{Client: fake.NewClientset(workerNode("n1", nodeLabel("example.com/zone", "b", "kubelet"))),
		Policy: tablePolicy(map[string]string{"example.com/zone": "a"}), Profile: "hardened",
		Modes: map[rules.ID]rules.Mode{"NR-MACHINE-2": rules.Audit}}
	findings, err = nodePolicyFindings(t.Context(), in)
	if err != nil || len(findings) != 2 || findings[0].Level != Fail || findings[1].Level != Warn ||
		!strings.Contains(findings[0].Detail, "NR-LABEL-1") {
		t.Errorf("got %v, %v", findings, err)
	}

	// Kubernetes' own rule for labels replaces a list that only audits, also in parity.
	in = Input{Client: fake.NewClientset(workerNode("n1", nodeLabel("node-role.kubernetes.io/db", "", "kubelet"))),
		Policy: strictPolicy(), Profile: "parity", Modes: map[rules.ID]rules.Mode{"NR-LABEL-1": rules.Audit}}
	findings, err = nodePolicyFindings(t.Context(), in)
	wantOne(t, findings, err, Fail, "NR-NODE-3")
}
