// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// manyConsumers is more than 200. From 200 consumers on, the in-tree authorizer keeps an index of a
// secret's nodes, and then does not remove a right.
const manyConsumers = 205

var _ = Describe("a right ends with its reason", func() {
	It("when the only pod that mounts a secret is deleted", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		scene := suite.Scene()
		node := suite.AsNode(scene.Own)
		secret := fixtures.Secret(scene.Namespace(ctx), "shared")
		scene.Put(ctx, secret)
		pod := scene.Pod(ctx, scene.Own, fixtures.WithSecret(secret.Name))
		request := Get(api.Secrets).In(secret.Namespace).Named(secret.Name)
		suite.ExpectAllowed(ctx, node, request, "NA-SECRET-1")

		deleted := time.Now()
		scene.Remove(ctx, pod)
		suite.BecomesRefused(ctx, node, request, "NA-SECRET-1", deleted, unrelated)
	})

	It("but not while another pod mounts the secret", Allows("NA-SECRET-1"), func(ctx SpecContext) {
		scene := suite.Scene()
		secret := fixtures.Secret(scene.Namespace(ctx), "shared")
		scene.Put(ctx, secret)
		scene.Pod(ctx, scene.Own, fixtures.WithSecret(secret.Name))
		scene.Remove(ctx, scene.Pod(ctx, scene.Own, fixtures.WithSecret(secret.Name)))
		suite.ExpectAllowed(ctx, suite.AsNode(scene.Own), Get(api.Secrets).In(secret.Namespace).Named(secret.Name),
			"NA-SECRET-1")
	})

	// This sequence leaves access behind in Kubernetes 1.36 and 1.37.
	It("when a pod names a secret twice that many others use", Denies("NA-SECRET-1"), Label(Slow), Attack("T23"),
		func(ctx SpecContext) {
			suite.NeedsOurs("1.36 and 1.37 leave the right behind (kubernetes#142574)")
			scene := suite.Scene()
			secret := fixtures.Secret(scene.Namespace(ctx), "popular")
			scene.Put(ctx, secret)
			request := Get(api.Secrets).In(secret.Namespace).Named(secret.Name)
			crowd(ctx, scene, secret)
			suite.ExpectAllowed(ctx, suite.AsNode(scene.Own), request, "NA-SECRET-1")

			twice := scene.Pod(ctx, scene.Other, fixtures.WithPullSecret(secret.Name), fixtures.WithSecretInEnv(secret.Name))
			suite.ExpectAllowed(ctx, suite.AsNode(scene.Other), request, "NA-SECRET-1")

			deleted := time.Now()
			scene.Remove(ctx, twice)
			suite.BecomesRefused(ctx, suite.AsNode(scene.Other), request, "NA-SECRET-1", deleted, unrelated)
		})
})

// crowd creates many pods on the scene's own node that mount the secret.
func crowd(ctx context.Context, scene *Scene, secret *corev1.Secret) {
	GinkgoHelper()
	const atOnce = 8
	scene.Node(ctx, scene.Own)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range manyConsumers {
		pod := fixtures.Pod(secret.Namespace, fmt.Sprintf("consumer-%d", i), scene.Own, fixtures.WithSecret(secret.Name))
		group.Go(func() error { return suite.Objects.Create(ctx, pod) })
	}
	Expect(group.Wait()).To(Succeed())
}
