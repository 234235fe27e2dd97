// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// attempt is one way to carry out an attack with a token from a DaemonSet's pod.
type attempt struct {
	name string
	// rule denies the attack. text is part of the reason. permittedBy is the rule that allows the
	// permitted request, if it is another rule.
	rule, permittedBy rules.ID
	text              string
	attack, permitted RequestFunc
	// atAdmission is true where the authorizers cannot see the difference.
	atAdmission bool
}

// try makes the specs of an attempt, with two accounts that differ only in the annotation.
func try(attack string, a attempt) {
	permittedBy := a.permittedBy
	if permittedBy == "" {
		permittedBy = a.rule
	}
	Describe(a.name, Attack(attack), func() {
		It("succeeds without the annotation", AllowsBy(a.rule, Behind), func(ctx SpecContext) {
			who, request := podOf(plain)(), a.attack(ctx, suite.Env())
			code, message, err := who.Send(ctx, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(BeNumerically("<", http.StatusBadRequest), "%s: %s", request, message)
		})
		It("is denied with the annotation", Denies(a.rule), func(ctx SpecContext) {
			begun, who := time.Now(), podOf(agent)()
			if a.atAdmission {
				suite.ExpectRefusedWrite(ctx, who, a.attack(ctx, suite.Env()), Refusal{By: a.rule, Text: a.text})
				return
			}
			suite.ExpectForbidden(ctx, who, a.attack(ctx, suite.Env()), a.rule, a.text)
			expectAudited(ctx, who, begun, a.rule)
		})
		It("the same request on the own node is allowed", Allows(permittedBy), func(ctx SpecContext) {
			if a.atAdmission {
				suite.ExpectWritten(ctx, podOf(agent)(), a.permitted(ctx, suite.Env()))
				return
			}
			expectPassed(ctx, podOf(agent)(), a.permitted(ctx, suite.Env()), permittedBy)
		})
	})
}

// expectAudited expects the denial and its rule in the audit log of the API server.
func expectAudited(ctx context.Context, who *Identity, since time.Time, rule rules.ID) {
	GinkgoHelper()
	Eventually(ctx, func() (bool, error) {
		events, err := suite.Audited(ctx, since.Add(-time.Second), who.User)
		for _, event := range events {
			if event.Annotations["authorization.k8s.io/decision"] == "forbid" &&
				strings.Contains(event.Annotations["authorization.k8s.io/reason"], "["+string(rule)+"]") {
				return true, err
			}
		}
		return false, err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(BeTrue(), "the audit log has the refusal and its rule")
}
