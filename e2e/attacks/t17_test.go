// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T17", Title: "A node requests tokens that its kubelet does not need",
	Source: "plugin/pkg/admission/noderestriction/admission.go; KEP-2799; kubernetes#128077",
	Effect: "A kubelet requests the tokens of its pods. An attacker with its certificate requests tokens of pods " +
		"on other nodes, or for other services, and has the rights of their accounts.",
	Stops: "A node gets only the tokens that a pod on it mounts, for the audiences that the pod mounts.",
	Attempts: []Attempt{
		{
			Name: "the token of another node's pod", Effect: "the token reads the secrets that the account may read",
			By: kubelet, Rule: "NR-SA-3", Text: "bound to a pod scheduled on a different node",
			Prepare: func(ctx context.Context, r *Run) {
				secretsOfBoth(ctx, r)
				grantAccount(ctx, r)
				// The worker has a pod of the same account, so only the pod in the request differs.
				r.Env.Pod(ctx, r.Attacker(), fixtures.WithToken())
				r.Pod = r.Env.Pod(ctx, r.Victim(), fixtures.WithToken())
			},
			Attack: sends(func(r *Run) Request { return tokenFor(r.Pod).Stored() }), Show: showToken,
			TwinIs: "a pod on the own node",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				return r.Send(ctx, who, tokenFor(r.Env.Pod(ctx, r.Attacker(), fixtures.WithToken())).Stored())
			},
		},
		{
			Name: "a token for another service than the pod mounts", Effect: "the service vault accepts the token",
			By: kubelet, Rule: "NR-SA-4", Text: "is not authorized to request tokens for audience",
			Prepare: func(ctx context.Context, r *Run) { r.Pod = r.Env.Pod(ctx, r.Attacker(), fixtures.WithToken()) },
			Attack:  sends(func(r *Run) Request { return tokenFor(r.Pod, "vault").Stored() }),
			Show: func(ctx context.Context, r *Run, answer Answer) {
				review := must(suite.Client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
					Spec: authenticationv1.TokenReviewSpec{Token: issued(answer), Audiences: []string{"vault"}},
				}, metav1.CreateOptions{}))
				Expect(review.Status.Authenticated).To(BeTrue(), review.Status.Error)
				r.Say("A review for the audience vault accepts the token as %s.", review.Status.User.Username)
			},
			TwinIs: "a pod that mounts such a token",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				pod := r.Env.Pod(ctx, r.Attacker(), fixtures.WithTokenFor("vault"))
				return r.Send(ctx, who, tokenFor(pod, "vault").Stored())
			},
		},
	},
	Also: []string{"e2e/noderestriction/serviceaccounts_test.go"},
})

// The API server itself issues no such token, no matter who requests it. So there is no unprotected success.
var _ = It("T17: a token for the UID of a deleted pod, whose name another pod has, is denied to a node", Attack("T17"),
	Denies("NR-SA-2"), Label(OnHost, OnWorker), func(ctx SpecContext) {
		r := &Run{Env: suite.Env(), Protected: true, Names: map[string]string{}}
		deleted := running(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.WithToken()))
		removeInPeace(ctx, deleted)
		next := fixtures.Pod(deleted.Namespace, deleted.Name, r.Attacker(), fixtures.WithToken(), fixtures.WithAccount)
		r.Put(ctx, next)
		Expect(next.UID).NotTo(Equal(deleted.UID))

		anyone := r.Send(ctx, byRBAC(ctx, r, nil), tokenFor(deleted).Stored())
		Expect(anyone.Code).To(Equal(http.StatusConflict), anyone.Message)
		who, begun := kubelet.Real(ctx, r, nil), time.Now()
		var answer Answer
		suite.ExpectRefusal(ctx, func() Answer {
			answer = r.Send(ctx, who, tokenFor(deleted).Stored())
			return answer
		}, Refusal{By: "NR-SA-2", Text: "does not match the UID in record"})
		expectAuditedRefusal(ctx, r, who, begun, answer.Message)
		suite.ExpectAdmitted(ctx, func() Answer { return r.Send(ctx, who, tokenFor(next).Stored()) })
	})

// grantAccount gives the account of the Env's pods the right to read secrets.
func grantAccount(ctx context.Context, r *Run) {
	account := r.Account(ctx)
	r.Grant(ctx, "system:serviceaccount:"+account.Namespace+":"+account.Name, readsSecrets...)
}

// showToken expects that the token in the answer reads the victim's secret.
func showToken(ctx context.Context, r *Run, answer Answer) {
	expectSecret(ctx, r, mintedBy(ctx, answer))
}
