// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	authorizationFile = StateDirectory + "/apiserver/authorization.yaml"
	// cacheSettings prints the settings of the cache in node-authorizer's entry of the file.
	cacheSettings = "sed -n '/name: " + Webhook + "$/,/matchConditions:/p' " + authorizationFile +
		" | grep -E '(Requests|TTL): ' | tr -d ' '"
	// installedSettings are those that Bulkhead installs.
	installedSettings = "cacheAuthorizedRequests:false\ncacheUnauthorizedRequests:false\n" +
		"authorizedTTL:1s\nunauthorizedTTL:1s"
	// reloadTimeout bounds the time until the API server has loaded a changed file. It looks at the file
	// when the file system reports a change, and once a minute.
	reloadTimeout = 2 * time.Minute

	// readAgain is longer than the time in which node-authorizer answers a second request without another
	// live lookup: 250 ms after a lookup that found nothing.
	readAgain = time.Second
	// cachedSecret is the secret that a kubelet is denied by a cached answer. refusals_test.go expects
	// these denials.
	cachedSecret = "requested-too-early"
	// stuck is how long a spec checks that a pod does not start. A pod whose kubelet may read the secret
	// starts in a few seconds.
	stuck = 15 * time.Second
)

// With a cache, an answer of Bulkhead remains valid after its reason has ended. A node makes one
// request before its pod exists, and cannot read the secret of the pod afterwards. A node that could
// read a secret can still read it after its pod is deleted. The next container has the same sequences
// without the cache.
var _ = Describe("while the API server caches the answers of Bulkhead", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), Attack("T22"), func() {
		BeforeAll(func(ctx SpecContext) {
			Expect(suite.OnControlPlane(ctx, cacheSettings)).To(Equal(installedSettings))
			DeferCleanup(setCache, "false", "1s")
			setCache(ctx, "true", "1h")
		})

		It("a node is still denied a secret that it requested before its pod existed", Denies("NA-SECRET-1"),
			func(ctx SpecContext) {
				env, node := suite.Env(), suite.AsNode(suite.Env().Own)
				get := requestTooEarly(ctx, env, node)
				env.Pod(ctx, env.Own, fixtures.WithSecret(get.Name))
				// The cache has no answer to a list, so node-authorizer decides. It knows the pod.
				suite.ExpectAllowed(ctx, node, listOf(get), "NA-SECRET-2")
				suite.ExpectForbidden(ctx, node, get, "NA-SECRET-1", unrelated)
			})

		It("a node still reads the secret of a deleted pod", Allows("NA-SECRET-1"), func(ctx SpecContext) {
			env, node := suite.Env(), suite.AsNode(suite.Env().Own)
			get, _ := readAndDelete(ctx, env, node)
			// Without the cache, Bulkhead ends the right within this time.
			Consistently(ctx, statusOf(node, get)).WithTimeout(RevokeTimeout).WithPolling(time.Second).Should(
				Equal(http.StatusOK))
			// The cache has no answer to a list.
			suite.ExpectForbidden(ctx, node, listOf(get), "NA-SECRET-2", unrelated)
			suite.ExpectAllowed(ctx, node, get, "NA-SECRET-1")
		})

		It("a pod does not start if its secret was requested too early, and starts without the cache",
			Denies("NA-SECRET-2"), func(ctx SpecContext) {
				env, kubelet := suite.Env(), must(suite.RealKubelet(ctx, suite.Worker))
				secret := fixtures.Secret(env.Namespace(ctx), cachedSecret)
				env.Put(ctx, secret)
				requestAsKubelet(ctx, kubelet, secret)
				created := time.Now()
				pod := env.Pod(ctx, suite.Worker, fixtures.WithSecret(secret.Name))
				expectAudited(ctx, kubelet, secret, created, "forbid", "NA-SECRET-2")
				Consistently(ctx, phaseOf(pod)).WithTimeout(stuck).WithPolling(time.Second).Should(
					Equal(corev1.PodPending))

				// The API server begins with an empty cache after each reload.
				setCache(ctx, "false", "1s")
				off := time.Now()
				waitUntilRunning(ctx, pod)
				Measured("a pod starts after the cache was turned off", time.Since(off).Round(time.Second).String())
			})
	})

var _ = Describe("while the API server caches no answers of Bulkhead", Attack("T22"), func() {
	It("a node reads a secret that it requested before its pod existed", Allows("NA-SECRET-1"),
		func(ctx SpecContext) {
			env, node := suite.Env(), suite.AsNode(suite.Env().Own)
			get := requestTooEarly(ctx, env, node)
			env.Pod(ctx, env.Own, fixtures.WithSecret(get.Name))
			suite.ExpectAllowed(ctx, node, get, "NA-SECRET-1")
		})

	It("a node is denied the secret of a deleted pod", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		node := suite.AsNode(suite.Env().Own)
		get, deleted := readAndDelete(ctx, suite.Env(), node)
		suite.BecomesRefused(ctx, node, get, "NA-SECRET-1", deleted, unrelated)
	})

	It("a pod starts although its secret was requested too early", Allows("NA-SECRET-2"), Label(OnHost, OnWorker),
		func(ctx SpecContext) {
			env, kubelet := suite.Env(), must(suite.RealKubelet(ctx, suite.Worker))
			secret := fixtures.Secret(env.Namespace(ctx), env.NewName("secret"))
			env.Put(ctx, secret)
			requestAsKubelet(ctx, kubelet, secret)
			time.Sleep(readAgain)
			waitUntilRunning(ctx, env.Pod(ctx, suite.Worker, fixtures.WithSecret(secret.Name)))
		})
})

// requestTooEarly creates a secret that no pod uses. The node requests it and is denied. The next request
// of the node causes another live lookup.
func requestTooEarly(ctx context.Context, env *Env, node *Identity) (get Request) {
	GinkgoHelper()
	get = unused(aSecret, named(Get(api.Secrets)))(ctx, env)
	suite.ExpectForbidden(ctx, node, get, "NA-SECRET-1", unrelated)
	time.Sleep(readAgain)
	return get
}

// requestAsKubelet makes the requests of a kubelet that begins to watch a secret, with its certificate.
// They have the same attributes as those of the kubelet. No pod uses the secret, so they are denied.
func requestAsKubelet(ctx context.Context, kubelet *Identity, secret *corev1.Secret) {
	GinkgoHelper()
	for _, request := range []Request{Watch(api.Secrets), List(api.Secrets)} {
		suite.ExpectForbidden(ctx, kubelet, selected(request)(secret.Namespace, secret.Name), "NA-SECRET-2", unrelated)
	}
}

// readAndDelete creates a secret and a pod that mounts it. The node reads the secret, and then the pod is
// deleted.
func readAndDelete(ctx context.Context, env *Env, node *Identity) (get Request, deleted time.Time) {
	GinkgoHelper()
	secret := fixtures.Secret(env.Namespace(ctx), env.NewName("secret"))
	env.Put(ctx, secret)
	pod := env.Pod(ctx, env.Own, fixtures.WithSecret(secret.Name))
	get = named(Get(api.Secrets))(secret.Namespace, secret.Name)
	suite.ExpectAllowed(ctx, node, get, "NA-SECRET-1")
	deleted = time.Now()
	env.Remove(ctx, pod)
	return get, deleted
}

// listOf lists the object of another request by its name.
func listOf(get Request) Request { return selected(List(get.Resource))(get.Namespace, get.Name) }

// setCache turns the cache for the answers of node-authorizer on or off, and sets how long it keeps an
// answer. It waits until the API server has loaded the file. The cache is then empty. It is idempotent.
func setCache(ctx context.Context, cache, ttl string) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, fmt.Sprintf(`set -e; cp -p %[1]s %[1]s.e2e
sed '/name: %[2]s$/,/matchConditions:/{s/Requests: .*/Requests: %[3]s/;s/TTL: .*/TTL: %[4]s/;}' %[1]s >%[1]s.e2e
mv %[1]s.e2e %[1]s`, authorizationFile, Webhook, cache, ttl))
	Eventually(ctx, func() (bool, error) {
		// scope-sync may write its list to the file at any time.
		sum, err := suite.Host.Run(ctx, suite.ControlPlane, "sha256sum <"+authorizationFile)
		if err != nil {
			return false, err
		}
		hash, _, _ := strings.Cut(sum, " ")
		return suite.AuthorizationLoaded(ctx, hash)
	}).WithTimeout(reloadTimeout).WithPolling(time.Second).Should(BeTrue(), "the API server has loaded the file")
}
