// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// registersWith sets a label on a Node.
func registersWith(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels = map[string]string{key: value} }
}

// foundOnce is the body of specs about a write that is admitted, and reported once by the rule.
func foundOnce(ctx SpecContext, id rules.ID, tweak func(*corev1.Node)) {
	count := func() float64 {
		return must(suite.RestrictionMetric(ctx, "bulkhead_audited_refusals_total", `rule="`+string(id)+`"`))
	}
	before := count()
	asMachine(ctx, machine(tweak))
	Expect(count()).To(Equal(before+1), "one write, counted once")
}

// An operator tries two rules of the node policy in audit. All other rules are enforced.
var _ = Describe("a rule of the node policy in audit", Serial, Ordered, Label(Disruptive, OnHost, OnHardened, Slow),
	func() {
		BeforeAll(func(ctx SpecContext) {
			installed := must(suite.ReadInstallation(ctx))
			DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, installed.Undoing().Command()) })
			trying := installed
			trying.Extensions.RuleModes = map[string]string{"NR-LABEL-1": "audit", "NR-MACHINE-1": "audit"}
			maps.Copy(trying.Extensions.RuleModes, installed.Extensions.RuleModes)
			suite.OnControlPlane(ctx, trying.Command())
			// The policy comes later: the preflight of the installer would report this host's own mirror pods.
			suite.Configure(ctx, strings.Replace(narrow, "allowedLabels: []", "allowedLabels: [e2e.bulkhead.dev/free]", 1))
		})

		It("admits and counts a registration without the taint of its row", Allows("NR-MACHINE-1"),
			func(ctx SpecContext) {
				foundOnce(ctx, "NR-MACHINE-1", func(node *corev1.Node) { node.Spec.Taints = nil })
			})
		It("admits and counts a label that the list does not have", Allows("NR-LABEL-1"),
			func(ctx SpecContext) { foundOnce(ctx, "NR-LABEL-1", registersWith("e2e.bulkhead.dev/other", "x")) })
		It("leaves Kubernetes' own rule for labels in force: denied", Denies("NR-NODE-3"), func(ctx SpecContext) {
			asMachine(ctx, machine(registersWith("node-restriction.kubernetes.io/x", "y")), "node-restriction.kubernetes.io/x")
		})
		It("leaves the other rules of the machine table in force: denied", Denies("NR-MACHINE-2"), func(ctx SpecContext) {
			asMachine(ctx, machine(func(node *corev1.Node) { pool("general")(node); node.Spec.Taints = nil }),
				"e2e.bulkhead.dev/pool")
		})
		It("admits the value of the row", Allows("NR-MACHINE-2"),
			func(ctx SpecContext) { asMachine(ctx, machine(pool("pii"))) })
	})
