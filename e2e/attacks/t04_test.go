// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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
			Prepare: administrator,
			Attack: sends(func(r *Run) Request {
				return Create(api.ServiceAccounts).In(r.Names["namespace"]).Named(fixtures.Account).Sub("token").
					With(&authenticationv1.TokenRequest{})
			}),
			Show:   readsAllSecrets,
			TwinIs: "a token of its own account that is bound to its pod",
			Twin:   boundToken,
		},
		{
			Name:   "requesting a token of its own account that is bound to no pod",
			Effect: "the token is valid for days, and no deletion of the pod ends it",
			By:     daemon, Rights: mayCreateTokens, Rule: "NS-ADMIT-1", Text: "[NR-SA-1]",
			Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
				return r.Send(ctx, who, Create(api.ServiceAccounts).In(stage.Namespace).Named(accountOf(who)).Sub("token").
					With(&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
						ExpirationSeconds: ptr.To[int64](7 * 24 * 3600),
					}}))
			},
			Show:   outlivesThePod,
			TwinIs: "the same request, bound to its pod",
			Twin:   boundToken,
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
		With(fixtures.TokenRequest(pod)))
}

// created returns the token in an answer, and when it expires.
func created(ctx context.Context, answer Answer) (Bearer, time.Time) {
	GinkgoHelper()
	var request authenticationv1.TokenRequest
	Expect(json.Unmarshal(answer.Body, &request)).To(Succeed())
	bearer, err := suite.ReadToken(ctx, request.Status.Token)
	Expect(err).NotTo(HaveOccurred())
	return bearer, request.Status.ExpirationTimestamp.Time
}

// readsAllSecrets uses the token in the answer.
func readsAllSecrets(ctx context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	bearer, _ := created(ctx, answer)
	read := r.Send(ctx, suite.AsBearer(bearer), List(api.Secrets))
	Expect(read.Code).To(Equal(200), read.Message)
}

// outlivesThePod expects a token without a pod that is valid for days.
func outlivesThePod(ctx context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	bearer, expires := created(ctx, answer)
	Expect(bearer.Extra).NotTo(HaveKey("authentication.kubernetes.io/pod-name"))
	Expect(time.Until(expires)).To(BeNumerically(">", 6*24*time.Hour))
	r.Say("The token of %s names no pod and is valid until %s.", bearer.User, expires.UTC().Format(time.RFC3339))
}
