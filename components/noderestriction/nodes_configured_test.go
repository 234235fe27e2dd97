// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// withPolicy returns a Restriction with a policy. fields is the policy without apiVersion and kind.
func withPolicy(t *testing.T, c *fakeCluster, fields string) *Restriction {
	t.Helper()
	policy, err := configuration.Parse(
		[]byte("apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n" + fields))
	if err != nil {
		t.Fatal(err)
	}
	return restrict(c, func(config *Config) {
		config.Configuration = func() *configuration.Configuration { return policy }
	})
}

// newHere returns a cluster without the Node me.
func newHere() *fakeCluster {
	c := aCluster()
	delete(c.nodes, "me")
	return c
}

// label sets a label. The value "-" removes it.
func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		if value == "-" {
			delete(n.Labels, key)
			return
		}
		n.Labels[key] = value
	}
}

func tainted(taints ...corev1.Taint) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taints...) }
}

func aTaint(key, value string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: effect}
}

func register(edits ...func(*corev1.Node)) admission.Attributes {
	return write("me", admission.Create, "nodes", "", aNode("me", edits...), nil)
}

// relabel changes a label of a Node that has app=a and example.com/rack=r.
func relabel(subresource, key, value string) admission.Attributes {
	old := aNode("me", label("app", "a"), label("example.com/rack", "r"))
	return write("me", admission.Update, "nodes", subresource,
		aNode("me", label("app", "a"), label("example.com/rack", "r"), label(key, value)), old)
}

func TestConfiguredLabels(t *testing.T) {
	const (
		set    = `nodes "me" is forbidden: node "me" is not allowed to set the following labels: %s [NR-LABEL-1]`
		modify = `nodes "me" is forbidden: is not allowed to modify labels: %s [NR-LABEL-2]`
		closed = "node-restriction.kubernetes.io/pool"
	)
	some := withPolicy(t, newHere(), `allowedLabels: [example.com/rack, "csi.kubernetes.io.*"]`)
	run(t, some, []row{
		{"label that the kubelet sets: allowed", register(
			label(corev1.LabelTopologyZone, "z"), label(corev1.LabelTopologyRegion, "r"),
			label(corev1.LabelInstanceTypeStable, "i"), label(corev1.LabelInstanceType, "i"),
			label(corev1.LabelFailureDomainBetaZone, "z"), label(corev1.LabelFailureDomainBetaRegion, "r"),
			label(corev1.LabelWindowsBuild, "b"),
			label("beta.kubernetes.io/os", "linux"), label("beta.kubernetes.io/arch", "amd64")), "", 0, ""},
		{"a listed key may be set", register(label("example.com/rack", "r")), "", 0, ""},
		{"a key with a listed beginning may be set", register(label("csi.kubernetes.io.x/y", "")), "", 0, ""},
		{"another key is refused", register(label("example.com/row", "r")), "NR-LABEL-1", 0,
			fmt.Sprintf(set, "example.com/row")},
		{"another key of a kubelet's domain is refused", register(label("node.kubernetes.io/x", "r")), "NR-LABEL-1", 0,
			fmt.Sprintf(set, "node.kubernetes.io/x")},
		{"several are named in order", register(label("b", ""), label("a", ""), label(closed, "")), "NR-LABEL-1", 0,
			fmt.Sprintf(set, "a, b, "+closed)},
		{"many are counted", register(manyLabels(10_000)), "NR-LABEL-1", 0,
			fmt.Sprintf(set, "l0, l1, l10, l100, l1000, l1001, l1002, l1003, l1004, l1005 and 9990 more")},
		{"unchanged labels: allowed", relabel("", "app", "a"), "", 0, ""},
		{"a listed key may be changed", relabel("", "example.com/rack", "s"), "", 0, ""},
		{"a listed key may be removed", relabel("", "example.com/rack", "-"), "", 0, ""},
		{"a listed key may be changed by status", relabel("status", "example.com/rack", "s"), "", 0, ""},
		{"change of a label that the kubelet sets: allowed", relabel("status", corev1.LabelHostname, "h"), "", 0, ""},
		{"another key is not changed", relabel("", "app", "b"), "NR-LABEL-2", 0, fmt.Sprintf(modify, "app")},
		{"another key is not removed", relabel("", "app", "-"), "NR-LABEL-2", 0, fmt.Sprintf(modify, "app")},
		{"another key is not added", relabel("", "b", ""), "NR-LABEL-2", 0, fmt.Sprintf(modify, "b")},
		{"another key is not changed by status", relabel("status", "app", "b"), "NR-LABEL-2", 0, fmt.Sprintf(modify, "app")},
	})
	run(t, withPolicy(t, newHere(), `allowedLabels: ["*"]`), []row{
		{"with all, any key may be set",
			register(label("x", ""), label("example.com/x", ""), label("foo.kubernetes.io/x", "")), "", 0, ""},
		{"allowedLabels *, reserved label at creation: denied", register(label(closed, "")), "NR-LABEL-1", 0,
			fmt.Sprintf(set, closed)},
		{"allowedLabels *, change of a reserved label: denied", relabel("", closed, "a"), "NR-LABEL-2", 0,
			fmt.Sprintf(modify, closed)},
	})
	run(t, withPolicy(t, newHere(), `allowedLabels: [`+closed+`]`), []row{
		{"reserved label that is listed: allowed", register(label(closed, "")), "", 0, ""},
		{"reserved label that is not listed: denied", register(label(closed+"2", "")), "NR-LABEL-1", 0,
			fmt.Sprintf(set, closed+"2")},
	})
	run(t, withPolicy(t, newHere(), `allowedLabels: []`), []row{
		{"with none, the kubelet's own may be set", register(), "", 0, ""},
		{"allowedLabels empty, other label: denied", register(label("x", "")), "NR-LABEL-1", 0, fmt.Sprintf(set, "x")},
	})
}

func manyLabels(n int) func(*corev1.Node) {
	return func(node *corev1.Node) {
		for i := range n {
			node.Labels[fmt.Sprintf("l%d", i)] = ""
		}
	}
}

// TestUpstreamsLabelsWithoutAList checks a file without allowedLabels, and no file.
func TestUpstreamsLabelsWithoutAList(t *testing.T) {
	for name, r := range map[string]*Restriction{"no field": withPolicy(t, newHere(), ""),
		"no file": restrict(newHere())} {
		t.Run(name, func(t *testing.T) {
			run(t, r, []row{
				{"a label of one's own may be set", register(label("x", ""), tainted(aTaint("any", "", "NoSchedule"))), "", 0, ""},
				{"a role may not", register(label("node-role.kubernetes.io/x", "")), "NR-NODE-3", 0,
					`nodes "me" is forbidden: ` +
						`node "me" is not allowed to set the following labels: node-role.kubernetes.io/x [NR-NODE-3]`},
			})
		})
	}
}

func TestUnchangedNodeIsAdmitted(t *testing.T) {
	c := aCluster()
	r := withPolicy(t, c, "allowedLabels: []\nallowedTaints: []\nstickyTaints: [a]\nmachines: [{name: \"m*\", labels: "+
		"{a: b}}]")
	old, node := aNode("me"), aNode("me")
	q := &request{Attributes: write("me", admission.Update, "nodes", "status", node, old), node: "me",
		configuration: r.config.Configuration()}
	if refused := r.reviewConfiguredNode(t.Context(), q, old, node); refused != nil {
		t.Error(refused.Reason())
	}
}

// An operator must see all problems of a registration at once. Otherwise each setting would reveal
// the next problem.
func TestAuditReportsEveryProblemOfARegistration(t *testing.T) {
	const policy = "allowedLabels: [example.com/rack]\nallowedTaints: [example.com/free]\n"
	r := withPolicy(t, newHere(), policy)
	config := r.config
	config.AuditOnly = true
	config.Modes = Modes(rules.Enforce)
	r = New(config)
	for _, tt := range []struct {
		name  string
		write admission.Attributes
		want  []rules.ID
	}{
		{"allowed label and taint", register(label("example.com/rack", "r"),
			tainted(aTaint("example.com/free", "", corev1.TaintEffectNoSchedule))), nil},
		{"label and taint", register(label("karpenter.sh/nodepool", "x"),
			tainted(aTaint("karpenter.sh/unregistered", "", corev1.TaintEffectNoExecute))),
			[]rules.ID{"NR-LABEL-1", "NR-TAINT-1"}},
		{"label, taint, finalizer", register(label("karpenter.sh/nodepool", "x"),
			tainted(aTaint("karpenter.sh/unregistered", "", corev1.TaintEffectNoExecute)),
			func(n *corev1.Node) { n.Finalizers = []string{"example.com/x"} }),
			[]rules.ID{"NR-NODE-7", "NR-LABEL-1", "NR-TAINT-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := r.Review(t.Context(), tt.write)
			if diff := cmp.Diff(tt.want, got.Audited()); !got.Allowed() || diff != "" {
				t.Errorf("allowed %v, findings (-want +got)\n%s", got.Allowed(), diff)
			}
		})
	}
}

// A list of labels that is audited replaces nothing: Kubernetes' own rule for labels denies. Where the
// installation only audits, the list replaces that rule, as it will when it is enforced.
func TestAuditedLabelListReplacesNothing(t *testing.T) {
	const closed = "node-restriction.kubernetes.io/pool"
	config := withPolicy(t, newHere(), "allowedLabels: ["+closed+"]").config
	enforced, audited := config, config
	audited.Modes = map[rules.ID]rules.Mode{"NR-LABEL-1": rules.Audit, "NR-LABEL-2": rules.Audit}
	onlyAudits := config
	onlyAudits.AuditOnly = true
	for _, write := range []admission.Attributes{register(label(closed, "a")), relabel("", closed, "a")} {
		if got := New(enforced).Review(t.Context(), write); !got.Allowed() {
			t.Errorf("%s, enforced: %s", write.GetOperation(), got.Reason())
		}
		if got := New(audited).Review(t.Context(), write); got.Rule != "NR-NODE-3" {
			t.Errorf("%s, audited: %q, want NR-NODE-3", write.GetOperation(), got.Rule)
		}
		if got := New(onlyAudits).Review(t.Context(), write); !got.Allowed() || len(got.Findings) > 0 {
			t.Errorf("%s, audit only: %s, found %v", write.GetOperation(), got.Reason(), got.Findings)
		}
	}
}
