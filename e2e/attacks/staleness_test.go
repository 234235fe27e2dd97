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
var _ = Describe("stale answers", Attack("T23"), func() {
	// gone creates a secret whose only pod is deleted as soon as its node can read the secret.
	gone := func(ctx context.Context, e *Env) (pod *corev1.Pod, request Request, deleted time.Time) {
		GinkgoHelper()
		secret := fixtures.Secret(e.Namespace(ctx), "left-behind")
		e.Put(ctx, secret)
		pod = e.Pod(ctx, e.Own, fixtures.WithSecret(secret.Name))
		request = getSecret(secret.Namespace, secret.Name)
		suite.ExpectAllowed(ctx, suite.AsNode(e.Own), request, "NA-SECRET-1")
		deleted = time.Now()
		e.Remove(ctx, pod)
		return pod, request, deleted
	}

	It("a secret of a deleted pod is readable with rights by RBAC", AllowsBy("NA-SECRET-1", Behind),
		func(ctx SpecContext) {
			env := suite.Env()
			who := asRBACOnly(ctx, env)
			_, request, _ := gone(ctx, env)
			suite.ExpectAllowed(ctx, who, request, Behind)
		})

	It("a secret of a deleted pod is denied to the node", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		env := suite.Env()
		node := suite.AsNode(env.Own)
		_, request, deleted := gone(ctx, env)
		suite.BecomesRefused(ctx, node, request, "NA-SECRET-1", deleted, unrelated)
		expectAudited(ctx, &Run{sent: request}, node, deleted, "NA-SECRET-1")
	})

	It("a secret is denied after a pod of the same name was created on another node", Denies("NA-SECRET-1"),
		func(ctx SpecContext) {
			env := suite.Env()
			pod, request, deleted := gone(ctx, env)
			env.Node(ctx, env.Other)
			env.Put(ctx, fixtures.Pod(pod.Namespace, pod.Name, env.Other, fixtures.WithSecret(request.Name)))
			suite.ExpectAllowed(ctx, suite.AsNode(env.Other), request, "NA-SECRET-1")
			suite.BecomesRefused(ctx, suite.AsNode(env.Own), request, "NA-SECRET-1", deleted, unrelated)
		})

	It("a secret is allowed as soon as its pod is bound", Allows("NA-SECRET-1"), func(ctx SpecContext) {
		env := suite.Env()
		node, refused := suite.AsNode(env.Own), 0
		for range rounds {
			request := secretOn(own, getSecret)(ctx, env)
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
