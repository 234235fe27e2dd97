// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var mayRemovePods = []rbacv1.PolicyRule{right("", []string{"get", "delete"}, "pods"),
	right("", []string{"create"}, "pods/eviction")}

var _ = tell(Story{
	ID: "T5", Title: "A DaemonSet's token removes the pods of other nodes",
	Source: "rbac-police steal_pods; antrea-io/antrea#4651",
	Effect: "The attacker deletes or evicts the pods of other nodes. Together with T1, their controllers create " +
		"them again on the attacker's node.",
	Stops: "With pods and pods/eviction in its scope, an account removes only pods on its own node.",
	Attempts: []Attempt{
		{
			Name: "deleting a pod of another node", Effect: "the pod is gone",
			By: daemon, Rights: mayRemovePods, Rule: "NS-POD-3", Text: "[NA-POD-1]",
			Prepare: podsOnBoth,
			Attack:  sends(func(r *Run) Request { return Delete(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Stored() }),
			Show:    func(ctx context.Context, r *Run, _ Answer) { gone(ctx, r, r.Pod) },
			TwinIs:  "a pod on its own node (as a dry run)",
			Twin:    sends(func(r *Run) Request { return Delete(api.Pods).In(r.Pod.Namespace).Named(r.Names["own"]) }),
		},
		{
			Name: "evicting a pod of another node", Effect: "the pod is gone",
			By: daemon, Rights: mayRemovePods, Rule: "NS-POD-3", Text: "[NA-POD-1]",
			Prepare: podsOnBoth,
			Attack: sends(func(r *Run) Request {
				return Create(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Sub("eviction").Stored().
					With(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: r.Pod.Namespace, Name: r.Pod.Name}})
			}),
			Show:   func(ctx context.Context, r *Run, _ Answer) { gone(ctx, r, r.Pod) },
			TwinIs: "a pod on its own node (as a dry run)",
			Twin: sends(func(r *Run) Request {
				return Create(api.Pods).In(r.Pod.Namespace).Named(r.Names["own"]).Sub("eviction").
					With(fixtures.Eviction(r.Pod.Namespace, r.Names["own"]))
			}),
		},
	},
})

// podsOnBoth creates a pod on another node, and one on the attacker's node.
func podsOnBoth(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Pod = r.Env.Pod(ctx, r.Other)
	r.Names["own"] = r.Env.Pod(ctx, r.Attacker()).Name
}
