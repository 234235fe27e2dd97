// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T25", Title: "Impersonation leads out of a node scope",
	Source: "KEP-5284",
	Effect: "A DaemonSet may impersonate users, for example to act for its node. The attacker impersonates a user in " +
		"system:masters and reads every secret.",
	Stops: "An account with a scope impersonates only the node of its pod. Constrained impersonation has a right for " +
		"exactly that.",
	Attempts: []Attempt{{
		Name: "impersonating a user in system:masters", Effect: "the secret of a pod on the other node is printed",
		By: daemon, Rights: []rbacv1.PolicyRule{
			// By names, so that the API server cannot take this right for the twin, too.
			named(right("", []string{"impersonate"}, "users"), "anybody"),
			named(right("", []string{"impersonate"}, "groups"), "system:masters"),
			right("authentication.k8s.io", []string{"impersonate:associated-node"}, "nodes"),
			right("", []string{"impersonate-on:associated-node:list"}, "pods"),
		},
		Rule: "NS-IMPERSONATE-1", Prepare: secretsOfBoth,
		Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
			answer := r.Send(ctx, who.Impersonating("anybody", "system:masters"), secretNamed(r, r.Victim()))
			answer.User, answer.Request = who.User, impersonation("impersonate", schema.GroupVersionResource{Version: "v1",
				Resource: "users"}, "anybody")
			return answer
		},
		Show:   showSecret,
		TwinIs: "constrained impersonation of the own node",
		TwinAlso: "Constrained impersonation has its own verb for nodes, so the twin has another verb, another resource " +
			"and the name of the node.",
		Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
			request := List(api.Pods).Where("spec.nodeName=" + r.Attacker())
			var answer Answer
			Eventually(ctx, func() int {
				answer = r.Send(ctx, who.Impersonating("system:node:"+r.Attacker()), request)
				return answer.Code
			}).WithTimeout(Soon).WithPolling(time.Second).Should(Equal(http.StatusOK), "RBAC has the rights")
			beyond := r.Send(ctx, who.Impersonating("system:node:"+r.Attacker()),
				List(api.Pods).Where("spec.nodeName="+r.Victim()))
			Expect(beyond.Code).To(Equal(http.StatusForbidden), "it has the rights of that node")
			answer.User, answer.Request = who.User, impersonation("impersonate:associated-node",
				schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "nodes"}, r.Attacker())
			return answer
		},
	}},
	Also: []string{"e2e/nodescope/impersonation_test.go"},
})

// named limits a right to one name.
func named(rule rbacv1.PolicyRule, name string) rbacv1.PolicyRule {
	rule.ResourceNames = []string{name}
	return rule
}

// impersonation is what the API server asks the authorizers before it accepts an impersonation.
func impersonation(verb string, resource schema.GroupVersionResource, name string) Request {
	return Request{Verb: verb, Resource: resource, Name: name}
}
