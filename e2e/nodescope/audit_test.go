// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const auditedRefusals = "bulkhead_audited_refusals_total"

// Node scope denies nothing to an account in audit mode. It counts what it would have denied.
var _ = DescribeTable("an account in audit mode", decide,
	Entry("reads the other node's pods", Allows("NS-PASS-3"), podOf(watched), bystander(other, Get(api.Pods))),
	Entry("an account in enforce mode does not", DeniesBy("NS-PASS-3", "NS-POD-1"), podOf(agent),
		bystander(other, Get(api.Pods))),
	Entry("lists all secrets", Allows("NS-PASS-3"), podOf(watched), plainly(List(api.Secrets))),
	Entry("an account in enforce mode does not", DeniesBy("NS-PASS-3", "NS-SCOPE-1"), podOf(agent),
		plainly(List(api.Secrets))),
	Entry("is allowed by the rule itself where nothing would be denied", Allows("NS-POD-1"), podOf(watched),
		bystander(own, Get(api.Pods))),
)

var _ = Describe("a request that an account in audit mode would be denied", func() {
	It("is counted with its rule", Allows("NS-PASS-3"), Label(OnHost), func(ctx SpecContext) {
		// No other spec reads a Node as the account in audit mode.
		labels := `rule="NS-NODE-1"`
		count := func() float64 { return must(suite.ComponentMetric(ctx, auditedRefusals, labels)) }
		before := count()
		decide(ctx, podOf(watched), theNode(other, Get(api.Nodes)))
		Eventually(ctx, count).WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(BeNumerically(">", before))
	})

	It("is admitted, and noted in the audit log", Allows("NS-PASS-3"), Label(OnHost), func(ctx SpecContext) {
		since := time.Now()
		who := podOf(watched)()
		suite.ExpectWriteClaim(ctx, who, theNode(own, Patch(api.Nodes).With(metadata("labels", fields{notForNodes: ""}))))
		Eventually(ctx, func() ([]string, error) {
			events, err := suite.Audited(ctx, since.Add(-time.Second), who.User)
			var messages []string
			for _, event := range events {
				messages = append(messages, event.Annotations[ScopedEntry+"/would-refuse"])
			}
			return messages, err
		}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainElement(ContainSubstring("[NS-ADMIT-1]")))
	})

	It("is denied to an account in enforce mode", DeniesBy("NS-PASS-3", "NS-ADMIT-1"), func(ctx SpecContext) {
		suite.ExpectRefusedWrite(ctx, podOf(agent)(),
			Patch(api.Nodes).Named(own()).With(metadata("labels", fields{notForNodes: ""})),
			Refusal{By: "NS-ADMIT-1", Text: notLabels})
	})
})

// notForNodes is a label that a node may not set on itself.
const notForNodes = corev1.LabelNamespaceNodeRestriction + "/e2e"
