// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// An attacker in a DaemonSet's pod does not leave it. RBAC lets the DaemonSet list pods and create
// tokens, as a network agent did (projectcalico/calico#6421).
var _ = chain("C2", "from the token of one DaemonSet's pod to cluster-admin", "NS-POD-1", func(ctx context.Context,
	r *Run) {
	runOperator(ctx, r)
	secretsOfBoth(ctx, r)
}, func(ctx context.Context, r *Run) []chainStep {
	agent := granted(ctx, r, agentOf(r), []rbacv1.PolicyRule{right("", []string{"list"}, "pods"),
		right("", []string{"create"}, "serviceaccounts/token"),
		right(rbacv1.GroupName, []string{"create"}, "clusterrolebindings"),
		right(rbacv1.GroupName, []string{"bind"}, "clusterroles")})
	r.Say("The attacker is in a pod on %s.", r.Attacker())
	var admin *Identity
	return []chainStep{
		{what: "the attacker lists the pods of all nodes, and finds the operator", stoppedBy: "NS-POD-1",
			act: func(ctx context.Context, r *Run) Answer {
				return r.Send(ctx, agent, List(api.Pods).In(r.Pod.Namespace))
			},
			effect: func(_ context.Context, r *Run, answer Answer) {
				var list corev1.PodList
				Expect(json.Unmarshal(answer.Body, &list)).To(Succeed())
				Expect(list.Items).To(ContainElement(HaveField("Spec.ServiceAccountName", operator)))
			}},
		{what: "the attacker requests a token of the operator's account", stoppedBy: "NS-TOKEN-1",
			act: func(ctx context.Context, r *Run) Answer {
				return r.Send(ctx, agent, Create(api.ServiceAccounts).In(r.Pod.Namespace).Named(operator).Sub("token").
					With(&authenticationv1.TokenRequest{}).Stored())
			},
			effect: func(ctx context.Context, r *Run, answer Answer) {
				admin = mintedBy(ctx, answer)
				expectSecret(ctx, r, admin)
			}},
		{what: "with the operator's token, the attacker makes its own account a cluster-admin", needs: true,
			act:    func(ctx context.Context, r *Run) Answer { return bindsAdmin(ctx, r, admin) },
			effect: func(ctx context.Context, r *Run, _ Answer) { expectClusterAdmin(ctx, r, agent) }},
		{what: "the attacker makes its own account a cluster-admin with its own token, which may bind roles",
			stoppedBy: "NS-GRANT-1",
			act:       func(ctx context.Context, r *Run) Answer { return bindsAdmin(ctx, r, agent) }},
	}
})
