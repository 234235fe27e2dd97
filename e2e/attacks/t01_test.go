// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// mayPatchNodes is what the DaemonSets of these advisories had.
var mayPatchNodes = []rbacv1.PolicyRule{right("", []string{"get", "patch"}, "nodes", "nodes/status")}

const onlyOwnNode = "only of its own node"

var _ = tell(Story{
	ID: "T1", Title: "A DaemonSet's token drives the pods of other nodes to the attacker's node",
	Source: "CVE-2023-26484 (KubeVirt); CVE-2023-30840 (Fluid, golang/vulndb#1763); opencurve/curve#2379",
	Effect: "The attacker cordons or taints the other nodes. New pods, also those with strong credentials, " +
		"are scheduled to the attacker's node, and their tokens are on its disk.",
	Stops: "With nodes in its scope, an account changes only the Node that its pod is on.",
	Attempts: []Attempt{
		{
			Name: "cordoning another node", Effect: "a pod that prefers the other node runs on the attacker's node",
			By: daemon, Rights: mayPatchNodes, Rule: "NS-NODE-2", Text: onlyOwnNode,
			Prepare: chosenVictim,
			Attack: sends(func(r *Run) Request {
				return Patch(api.Nodes).Named(r.Other).With(spec("unschedulable", true)).Stored()
			}),
			Show:   landsHere,
			TwinIs: "the same patch of its own Node (as a dry run)",
			Twin: sends(func(r *Run) Request {
				return Patch(api.Nodes).Named(r.Attacker()).With(spec("unschedulable", true))
			}),
		},
		{
			Name: "tainting another node", Effect: "the pods of the other node are evicted",
			By: daemon, Rights: mayPatchNodes, Rule: "NS-NODE-2", Text: onlyOwnNode,
			Prepare: func(ctx context.Context, r *Run) {
				victim(ctx, r)
				r.Pod = fixtures.Pod(r.Namespace(ctx), r.NewName("payments"), r.Other, func(pod *corev1.Pod) {
					pod.Spec.Tolerations = tolerant(r.Other)
				})
				r.Put(ctx, r.Pod)
			},
			Attack: sends(func(r *Run) Request {
				return Patch(api.Nodes).Named(r.Other).With(spec("taints", []any{
					fields{"key": "example.com/maintenance", "effect": string(corev1.TaintEffectNoExecute)},
				})).Stored()
			}),
			Show:   func(ctx context.Context, r *Run, _ Answer) { gone(ctx, r, r.Pod) },
			TwinIs: "a cordon of its own Node instead of the taint (as a dry run)",
			Twin: sends(func(r *Run) Request {
				return Patch(api.Nodes).Named(r.Attacker()).With(spec("unschedulable", true))
			}),
			TwinAlso: "A node may not change the taints of its own Node either, so the twin also has another patch.",
		},
	},
})
