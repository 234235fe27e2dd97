// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// claim creates a claim and a pod on the Env's own node that uses it.
func claim(r Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		name, volume, secret := e.NewName("claim"), e.NewName("volume"), e.NewName("secret")
		e.Put(ctx,
			fixtures.Volume(volume, e.Namespace(ctx), name, secret),
			fixtures.Claim(e.Namespace(ctx), name, volume),
		)
		e.Pod(ctx, e.Own, fixtures.WithClaim(name))
		return r.In(e.Namespace(ctx)).Named(name)
	}
}

var _ = DescribeTable("a node and a volume claim", admit,
	Entry("updates its status", Allows("NR-PVC-1"),
		claim(Patch(api.PersistentVolumeClaims).Sub("status").With(status("capacity", fields{"storage": "2Mi"})))),
	Entry("updates the capacity", Allows("NR-PVC-2"),
		claim(Patch(api.PersistentVolumeClaims).Sub("status").With(status("capacity", fields{"storage": "2Mi"})))),
	Entry("does not change a label through the status", Denies("NR-PVC-2"),
		claim(Patch(api.PersistentVolumeClaims).Sub("status").With(metadata("labels", fields{"app": "payments"}))),
		"is not allowed to update fields other than"),
	Entry("does not change the phase", Denies("NR-PVC-2"),
		claim(Patch(api.PersistentVolumeClaims).Sub("status").With(status("phase", "Lost"))),
		"is not allowed to update fields other than"),
)

var _ = It("a node to which RBAC grants claims updates only their status", Denies("NR-PVC-1"),
	func(ctx SpecContext) {
		admitGranted(ctx, granted(
			claim(Patch(api.PersistentVolumeClaims).With(metadata("labels", fields{"app": "payments"}))), rbacv1.PolicyRule{
				Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"},
			}), "may only update PVC status")
	})
