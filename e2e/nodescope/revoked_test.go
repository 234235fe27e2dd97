// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// tokenOfAgent returns a new token of the agent's pod, as its kubelet requests it.
func tokenOfAgent(ctx SpecContext) *Identity {
	GinkgoHelper()
	pod := must(suite.Client.CoreV1().Pods(stage.Namespace).Get(ctx, agent, metav1.GetOptions{}))
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	made := must(suite.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName,
		request, metav1.CreateOptions{}))
	return suite.AsBearer(must(suite.ReadToken(ctx, made.Status.Token)))
}

// Both tokens are of one pod. The revocation list has one of them.
var _ = Describe("a pod whose token is revoked", Ordered, ContinueOnFailure, func() {
	var stolen, good *Identity

	BeforeAll(func(ctx SpecContext) {
		stolen, good = tokenOfAgent(ctx), tokenOfAgent(ctx)
		// Without the list the request passes, so the later denial is from the list.
		expectPassed(ctx, stolen, List(api.Deployments), "NS-PASS-1")
		revoked := time.Now()
		suite.Env().Revoke(ctx, stolen.CredentialID())
		suite.BecomesRefused(ctx, stolen, List(api.Deployments), "NS-REVOKE-1", revoked)
	})

	It("does not list a resource outside of the scope with the revoked token", Denies("NS-REVOKE-1"),
		func(ctx SpecContext) {
			suite.ExpectForbidden(ctx, stolen, List(api.Deployments), "NS-REVOKE-1",
				"credential "+stolen.CredentialID()+" is revoked")
		})

	It("lists it with another token", AllowsBy("NS-REVOKE-1", "NS-PASS-1"), func(ctx SpecContext) {
		expectPassed(ctx, good, List(api.Deployments), "NS-PASS-1")
	})

	It("lists it after the token was removed from the list", AllowsBy("NS-REVOKE-1", "NS-PASS-1"), func(ctx SpecContext) {
		suite.Env().Unrevoke(ctx, stolen.CredentialID())
		Eventually(ctx, func() (Answer, error) { return suite.Do(ctx, stolen, List(api.Deployments)) }).
			WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(AllowedBy(suite.Settings.Profile, Behind))
	})
})
