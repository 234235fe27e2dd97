// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// rounds is how often a node makes a request at the moment that a pod is bound to it.
const rounds = 20

// T23: an answer from an outdated cache. nodeauthorizer has two more specs with this label: a pod
// that has ended, and the secret with two hundred consumers.
var _ = Describe("answers from yesterday", Attack("T23"), func() {
	// gone creates a secret whose only pod is deleted as soon as its node can read the secret.
	gone := func(ctx context.Context, s *Scene) (pod *corev1.Pod, request Request, deleted time.Time) {
		GinkgoHelper()
		secret := fixtures.Secret(s.Namespace(ctx), "left-behind")
		s.Put(ctx, secret)
		pod = s.Pod(ctx, s.Own, fixtures.WithSecret(secret.Name))
		request = getSecret(secret.Namespace, secret.Name)
		suite.ExpectAllowed(ctx, suite.AsNode(s.Own), request, "NA-SECRET-1")
		deleted = time.Now()
		s.Remove(ctx, pod)
		return pod, request, deleted
	}

	It("a secret whose pod is gone is there for whoever has the rights by RBAC", AllowsBy("NA-SECRET-1", Behind),
		func(ctx SpecContext) {
			scene := suite.Scene()
			who := unprotected(ctx, scene)
			_, request, _ := gone(ctx, scene)
			suite.ExpectAllowed(ctx, who, request, Behind)
		})

	It("a secret whose pod is gone is refused to the node", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		scene := suite.Scene()
		node := suite.AsNode(scene.Own)
		_, request, deleted := gone(ctx, scene)
		suite.BecomesRefused(ctx, node, request, "NA-SECRET-1", deleted, unrelated)
		expectAudited(ctx, node, deleted, "NA-SECRET-1")
	})

	It("a secret moves with a pod of the same name to another node", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		scene := suite.Scene()
		pod, request, deleted := gone(ctx, scene)
		scene.Node(ctx, scene.Other)
		scene.Put(ctx, fixtures.Pod(pod.Namespace, pod.Name, scene.Other, fixtures.WithSecret(request.Name)))
		suite.ExpectAllowed(ctx, suite.AsNode(scene.Other), request, "NA-SECRET-1")
		suite.BecomesRefused(ctx, suite.AsNode(scene.Own), request, "NA-SECRET-1", deleted, unrelated)
	})

	It("a secret is not refused in the moment that its pod is bound", Allows("NA-SECRET-1"), func(ctx SpecContext) {
		scene := suite.Scene()
		node, refused := suite.AsNode(scene.Own), 0
		for range rounds {
			request := secretOn(own, getSecret)(ctx, scene)
			code, message, err := node.Send(ctx, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(BeElementOf(http.StatusOK, http.StatusForbidden), message)
			if code == http.StatusForbidden {
				refused++
			}
		}
		Measured("reads in the moment of a bind", fmt.Sprintf("%d of %d refused", refused, rounds))
		if suite.Settings.Profile != InTree {
			Expect(refused).To(BeZero())
		}
	})
})
