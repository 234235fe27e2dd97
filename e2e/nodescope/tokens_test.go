// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// requested returns a token of an account that the administrator requests, bound to a pod or not
// bound.
func requested(account string, pod *corev1.Pod, audiences ...string) func(context.Context) string {
	return func(ctx context.Context) string {
		GinkgoHelper()
		request := &authenticationv1.TokenRequest{}
		if pod != nil {
			request = fixtures.TokenRequest(pod)
		}
		request.Spec.Audiences = audiences
		token := must(suite.Client.CoreV1().ServiceAccounts(stage.Namespace).CreateToken(ctx, account, request,
			metav1.CreateOptions{}))
		return token.Status.Token
	}
}

// fromSecret returns a legacy token: it is stored in a secret and does not expire.
func fromSecret(account string) func(context.Context) string {
	return func(ctx context.Context) string {
		GinkgoHelper()
		secret := fixtures.Secret(stage.Namespace, suite.Env().NewName("token"))
		secret.Type, secret.StringData = corev1.SecretTypeServiceAccountToken, nil
		secret.Annotations = map[string]string{corev1.ServiceAccountNameKey: account}
		suite.Env().Put(ctx, secret)
		var token []byte
		Eventually(ctx, func() (int, error) {
			found, err := suite.Client.CoreV1().Secrets(secret.Namespace).Get(ctx, secret.Name, metav1.GetOptions{})
			if err != nil {
				return 0, err
			}
			token = found.Data[corev1.ServiceAccountTokenKey]
			return len(token), nil
		}).WithTimeout(ControllerManager).WithPolling(100 * time.Millisecond).Should(BeNumerically(">", 0))
		return string(token)
	}
}

var _ = DescribeTable("a token without a pod", Attack("T16"),
	func(ctx SpecContext, token func(context.Context) string, makeRequest RequestFunc) {
		who := suite.AsBearer(must(suite.ReadToken(ctx, token(ctx))))
		decide(ctx, func() *Identity { return who }, makeRequest, "names no pod")
	},
	Entry("from a secret, resource in the scope: denied", Denies("NS-IDENT-2"), fromSecret(agent), ownPods),
	Entry("from a secret, account without a scope: allowed", AllowsBy("NS-IDENT-2", Behind), fromSecret(plain),
		ownPods),
	Entry("from a token request, resource in the scope: denied", Denies("NS-IDENT-2"), requested(agent, nil), ownPods),
	Entry("from a token request, resource outside of the scope: allowed", Allows("NS-PASS-1"), requested(agent, nil),
		plainly(List(api.Deployments))),
	Entry("from a token request, account without a scope: allowed", AllowsBy("NS-IDENT-2", Behind), requested(plain, nil),
		ownPods),
	Entry("from a token request, resource in the scope of a pod of the account: denied", Denies("NS-IDENT-2"),
		requested(shared, nil),
		theNode(own, Get(api.Nodes))),
)

var _ = Describe("the lifetime of a token:", Attack("T16"), func() {
	It("a token for another audience is rejected by the API server", DeniesBy("NS-IDENT-2", Behind),
		func(ctx SpecContext) {
			who := suite.AsBearer(Bearer{User: "nobody", Token: requested(agent, nil, "vault")(ctx)})
			code, message, err := who.Send(ctx, ownPods(ctx, suite.Env()))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusUnauthorized), message)
		})

	It("a token is valid when its pod exists", Allows("NS-IDENT-3"), func(ctx SpecContext) {
		b := shortLivedToken(ctx, shortLivedPod(ctx, suite.Env().NewName(shortLived)))
		expectPassed(ctx, suite.AsBearer(b), ownPods(ctx, suite.Env()), "NS-POD-1")
	})

	It("a token ends with its pod, for node scope no later than for the API server", Denies("NS-IDENT-3"),
		func(ctx SpecContext) {
			pod := shortLivedPod(ctx, suite.Env().NewName(shortLived))
			b := shortLivedToken(ctx, pod)
			expectPassed(ctx, suite.AsBearer(b), ownPods(ctx, suite.Env()), "NS-POD-1")
			ended := time.Now()
			suite.Env().Remove(ctx, pod)
			// The API server may accept the token as long as its authentication cache has it.
			suite.BecomesRefused(ctx, suite.AsForged(b), ownPods(ctx, suite.Env()), "NS-IDENT-3", ended, "not there")
			code, message, err := suite.AsBearer(b).Send(ctx, ownPods(ctx, suite.Env()))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(BeElementOf(http.StatusUnauthorized, http.StatusForbidden), message)
		})

	It("a token of a deleted pod stays invalid when a pod of the same name is created", Denies("NS-IDENT-3"),
		func(ctx SpecContext) {
			name := suite.Env().NewName(shortLived)
			pod := shortLivedPod(ctx, name)
			b := shortLivedToken(ctx, pod)
			removeInPeace(ctx, pod)
			ended := time.Now()
			again := shortLivedPod(ctx, name)
			Expect(again.UID).NotTo(Equal(pod.UID))
			// For a short time no pod of that name existed, and a watch may report this late.
			suite.BecomesRefused(ctx, suite.AsForged(b), ownPods(ctx, suite.Env()), "NS-IDENT-3", ended)
			code, message, err := suite.AsBearer(b).Send(ctx, ownPods(ctx, suite.Env()))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(BeElementOf(http.StatusUnauthorized, http.StatusForbidden), message)
			expectPassed(ctx, suite.AsBearer(shortLivedToken(ctx, again)), ownPods(ctx, suite.Env()), "NS-POD-1")
			suite.ExpectForbidden(ctx, suite.AsForged(b), ownPods(ctx, suite.Env()), "NS-IDENT-3", "not the one")
		})
})

// shortLivedPod creates a pod on the worker that no other spec uses.
func shortLivedPod(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	pod := fixtures.Pod(stage.Namespace, name, own(), fixtures.As(shortLived))
	suite.Env().Put(ctx, pod)
	return pod
}

// removeInPeace deletes a pod and waits until its kubelet has finished with it. If the kubelet
// writes a status at that time, the API server executes the write as another deletion, which would
// delete the next pod of that name. See deleteWithoutFinalizers in k8s.io/apiserver's
// pkg/registry/generic/registry/store.go, which has no precondition for a patch.
func removeInPeace(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	pods, grace := suite.Client.CoreV1().Pods(pod.Namespace), int64(1)
	Expect(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})).To(Succeed())
	Eventually(ctx, func() bool {
		_, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).WithTimeout(PodStart).WithPolling(200 * time.Millisecond).Should(BeTrue())
}

// shortLivedToken returns a token that is bound to the pod, as a kubelet requests it.
func shortLivedToken(ctx context.Context, pod *corev1.Pod) Bearer {
	GinkgoHelper()
	return must(suite.ReadToken(ctx, requested(shortLived, pod)(ctx)))
}
