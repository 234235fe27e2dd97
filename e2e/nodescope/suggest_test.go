// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesuggest"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// suggested returns the output of `bulkhead scope suggest` for the audit log of the control-plane
// host.
func suggested(ctx context.Context, namespace, account string) scopesuggest.Suggestion {
	GinkgoHelper()
	out := suite.OnControlPlane(ctx,
		"cat /var/log/kubernetes/audit/*.log | KUBECONFIG=/etc/kubernetes/admin.conf bulkhead scope suggest "+
			namespace+"/"+account+" --audit-log=- --output=json")
	var printed struct{ Suggestion scopesuggest.Suggestion }
	Expect(json.Unmarshal([]byte(out), &printed)).To(Succeed(), out)
	return printed.Suggestion
}

func row(s scopesuggest.Suggestion, resource string) scopesuggest.Resource {
	GinkgoHelper()
	at := slices.IndexFunc(s.Resources, func(r scopesuggest.Resource) bool { return r.Name == resource })
	Expect(at).To(BeNumerically(">=", 0), "there is no row for %s in %+v", resource, s)
	return s.Resources[at]
}

var _ = Describe("bulkhead scope suggest", Label(OnHost), func() {
	It("prints a scope for what a DaemonSet does on its own node, and what that scope denies", Allows("NS-NODE-1"),
		func(ctx SpecContext) {
			const detector = "node-problem-detector"
			decide(ctx, podOf(detector), theNode(own, Get(api.Nodes)))
			s := suggested(ctx, stage.Daemons, detector)
			Expect(strings.Split(s.Annotation, ",")).To(And(ContainElement("nodes"), Not(ContainElement("nodes/status"))),
				"nodes covers it")
			nodes := row(s, "nodes")
			Expect(nodes.Seen).To(BeNumerically(">", 0), "%+v", nodes)
			Expect(nodes.OtherNodes).To(BeZero(), "%+v", nodes)
			Expect(nodes.Stops).To(ContainElement("get"), "of other nodes")
		})

	It("leaves out what a DaemonSet does on other nodes, and lists it", Allows("NS-PASS-3"), func(ctx SpecContext) {
		decide(ctx, podOf(watched), bystander(other, Get(api.Pods)))
		s := suggested(ctx, stage.Namespace, watched)
		pods := row(s, "pods")
		Expect(pods.InScope).To(BeFalse(), "%+v", pods)
		Expect(pods.Why).To(ContainSubstring("[NS-POD-1]"))
		Expect(strings.Split(s.Annotation, ",")).NotTo(ContainElement("pods"))
	})
})
