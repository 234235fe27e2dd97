// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var mayCreateTokens = []rbacv1.PolicyRule{right("", []string{"create"}, "serviceaccounts/token")}

var _ = tell(Story{
	ID: "T4", Title: "A DaemonSet's token creates tokens of stronger accounts, or of its own without an end",
	Source: "projectcalico/calico#6421, repaired in #7106; rbac-police token_request",
	Effect: "The ClusterRole of the DaemonSet has create on serviceaccounts/token. The attacker requests the token " +
		"of a cluster administrator, or a token of the own account that outlives the stolen pod.",
	Stops: "With serviceaccounts/token in its scope, an account requests tokens only for accounts of pods on its " +
		"node, and only tokens that are bound to these pods.",
	Attempts: []Attempt{
		{
			Name: "requesting a token of a cluster administrator", Effect: "the new token reads all secrets",
			By: daemon, Rights: mayCreateTokens, Rule: "NS-TOKEN-1", Text: "[NA-SA-2]",
			Prepare: func(ctx context.Context, r *Run) {
				administrator(ctx, r)
				r.Names[r.Victim()] = r.NewName("secret")
				r.Put(ctx, fixtures.Secret(r.Namespace(ctx), r.Names[r.Victim()]))
			},
			Attack: sends(func(r *Run) Request {
				return Create(api.ServiceAccounts).In(r.Names["namespace"]).Named(fixtures.Account).Sub("token").
					With(&authenticationv1.TokenRequest{}).Stored()
			}),
			Show:   readsAllSecrets,
			TwinIs: "a token of its own account that is bound to its pod",
			Twin:   boundToken,
			TwinAlso: "A node gets tokens only of accounts of its pods, and only bound to these pods, so the twin differs " +
				"in both.",
		},
		{
			Name:   "requesting a token of its own account that is bound to no pod",
			Effect: "after the pod was deleted, the token still creates the next token",
			By:     ownPod, Rights: mayCreateTokens, Rule: "NS-ADMIT-1", Text: "[NR-SA-1]",
			Attack: sends(func(r *Run) Request { return ownToken(r, nil) }),
			Show:   renewsItself,
			TwinIs: "the same request, bound to its pod",
			Twin: sends(func(r *Run) Request {
				return ownToken(r, fixtures.TokenRequest(r.Pod).Spec.BoundObjectRef)
			}),
		},
	},
})

// administrator makes the account of the spec's namespace a cluster administrator.
func administrator(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Names["namespace"] = r.Namespace(ctx)
	r.Bind(ctx, "system:serviceaccount:"+r.Names["namespace"]+":"+fixtures.Account, "cluster-admin")
}

// accountOf returns the name of the account of a pod of the stage.
func accountOf(who *Identity) string {
	return who.User[len("system:serviceaccount:"+stage.Namespace+":"):]
}

// boundToken requests a token that is bound to the attacker's pod.
func boundToken(ctx context.Context, r *Run, who *Identity) Answer {
	GinkgoHelper()
	pod, err := r.Client.CoreV1().Pods(stage.Namespace).Get(ctx, accountOf(who), metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return r.Send(ctx, who, Create(api.ServiceAccounts).In(stage.Namespace).Named(accountOf(who)).Sub("token").
		With(fixtures.TokenRequest(pod)).Stored())
}

// readsAllSecrets lists the secrets of all namespaces with the token in the answer, and prints one.
func readsAllSecrets(ctx context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	admin := mintedBy(ctx, answer)
	list := r.Send(ctx, admin, List(api.Secrets))
	Expect(list.Code).To(Equal(http.StatusOK), list.Message)
	expectSecret(ctx, r, admin)
}

// renewsItself deletes the pod that requested the token in the answer. With this token, it then creates the next
// token, and checks that the API server accepts it.
func renewsItself(ctx context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	removeInPeace(ctx, r.Pod)
	first := mintedBy(ctx, answer)
	Expect(first.Extra).NotTo(HaveKey("authentication.kubernetes.io/pod-name"))
	next := r.Send(ctx, first, ownToken(r, nil))
	Expect(next.Code).To(Equal(http.StatusCreated), next.Message)
	Expect(mintedBy(ctx, next).User).To(Equal(first.User))
	r.Say("Pod %s was deleted. The token of %s still creates tokens.", r.Pod.Name, first)
}
