// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The API server sends node scope only the requests of listed accounts. These specs send other
// requests, directly from the host.
var _ = Describe("node-authorizer's endpoint for node scope", Label(OnHost), func() {
	user := func(name string) string { return "system:serviceaccount:" + stage.Namespace + ":" + name }

	DescribeTable("denies", func(ctx SpecContext, who func() string) {
		claim := ReadClaim(CurrentSpecReport().Labels())
		decision := askedItself(ctx, listsPods(who()))
		Expect(decision.Denied).To(BeTrue(), decision.Reason)
		Expect(decision.Reason).To(HaveSuffix("[" + string(claim.By) + "]"))
	},
		Entry("a name without an account", Denies("NS-IDENT-1"),
			func() string { return "system:serviceaccount:" + stage.Namespace }),
		Entry("a name with an empty account", Denies("NS-IDENT-1"), func() string { return user("") }),
		Entry("a name with too many parts", Denies("NS-IDENT-1"), func() string { return user("agent:other") }),
		Entry("an account that does not exist", Denies("NS-UNREADY"),
			func() string { return user("nobody") }),
	)

	DescribeTable("leaves to RBAC", func(ctx SpecContext, who func() string, reason string) {
		decision := askedItself(ctx, listsPods(who()))
		Expect(decision.Denied || decision.Allowed).To(BeFalse(), decision.Reason)
		Expect(decision.Reason).To(Equal(reason))
	},
		Entry("an account that exists and has no scope", Allows("NS-IDENT-1"), Allows("NS-UNREADY"),
			func() string { return user(plain) }, "[NS-PASS-1]"),
		Entry("a user that is not a service account", Allows("NS-IDENT-1"),
			func() string { return "system:serviceaccounts" }, ""),
	)

	It("denies a review of 100 KB without reading it", Denies("NS-LIMIT"), func(ctx SpecContext) {
		labels := `rule="NS-LIMIT"`
		count := func() float64 {
			return must(suite.ComponentMetric(ctx, "bulkhead_authorization_decisions_total", labels))
		}
		before := count()
		decision := askedItself(ctx, listsPods(user(plain)+strings.Repeat("x", 100<<10)))
		if decision.Reason != "" { // curl may print only the status code
			Expect(decision.Denied).To(BeTrue(), decision.Reason)
			Expect(decision.Reason).To(HaveSuffix("[NS-LIMIT]"))
		}
		Expect(count()).To(BeNumerically(">", before))
	})

	It("reads a review of 50 KB", Allows("NS-LIMIT"), func(ctx SpecContext) {
		body := strings.Replace(listsPods(user(plain)), `"user":`, `"uid":"`+strings.Repeat("x", 50<<10)+`","user":`, 1)
		decision := askedItself(ctx, body)
		Expect(decision.Denied || decision.Allowed).To(BeFalse(), decision.Reason)
		Expect(decision.Reason).To(Equal("[NS-PASS-1]"))
	})
})

// The authorizers already deny these writes, so such a request never reaches admission through the
// API server. Admission must deny them as a second layer.
var _ = Describe("node-restriction's endpoint", Label(OnHost), func() {
	podIn := func(where place) *corev1.Pod {
		pod := bystanderOn(where)
		pod.ResourceVersion = "1"
		return pod
	}
	noting := func(pod *corev1.Pod) *corev1.Pod {
		pod.Annotations = map[string]string{unmarked: "x"}
		return pod
	}

	DescribeTable("decides about an account with a scope that writes a pod",
		func(ctx SpecContext, before, after func() *corev1.Pod) {
			w := write{kind: "Pod", resource: "pods", name: after().Name, after: after()}
			if before != nil {
				w.before = before()
			}
			expectReview(reviewed(ctx, admitScoped, bearerOf(agent), w))
		},
		Entry("on its node: admitted", Allows("NS-ADMIT-2"), func() *corev1.Pod { return podIn(own) },
			func() *corev1.Pod { return noting(podIn(own)) }),
		Entry("on another node: denied", Denies("NS-ADMIT-2"), func() *corev1.Pod { return podIn(other) },
			func() *corev1.Pod { return noting(podIn(other)) }),
		Entry("moved to another node: denied", Denies("NS-ADMIT-2"), func() *corev1.Pod { return podIn(own) },
			func() *corev1.Pod {
				pod := podIn(own)
				pod.Spec.NodeName = other()
				return pod
			}),
		Entry("created: denied", Denies("NS-ADMIT-2"), nil, func() *corev1.Pod { return podIn(own) }),
	)

	account := func(value string) *corev1.ServiceAccount {
		made := fixtures.ServiceAccount(stage.Namespace, agent)
		made.Annotations = map[string]string{nodescope.ScopeAnnotation: value}
		return made
	}
	touched := func(value string) *corev1.ServiceAccount {
		made := account(value)
		made.Annotations[unmarked] = "x"
		return made
	}

	DescribeTable("decides about a node that writes a service account", func(ctx SpecContext, w func() write) {
		asNode := Bearer{User: "system:node:" + own(), Groups: []string{"system:nodes", "system:authenticated"}}
		about := w()
		about.kind, about.resource, about.name = "ServiceAccount", "serviceaccounts", agent
		expectReview(reviewed(ctx, admitNode, asNode, about))
	},
		Entry("without a change of the scope: admitted", Allows("NS-WRITE-3"),
			func() write { return write{before: account("pods"), after: touched("pods")} }),
		Entry("with a change of the scope: denied", Denies("NS-WRITE-3"),
			func() write { return write{before: account("pods"), after: account("")} }),
		Entry("creation with a scope: denied", Denies("NS-WRITE-3"), func() write { return write{after: account("pods")} }),
		Entry("deletion of an account with a scope: denied", Denies("NS-WRITE-3"),
			func() write { return write{before: account("pods")} }),
	)
})
