// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	. "github.com/onsi/ginkgo/v2"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// accountWithoutScope returns an account with the rights of a use case and without an annotation.
func accountWithoutScope(name string) actor {
	return func() *Identity {
		return suite.AsForged(Bearer{
			User:   "system:serviceaccount:" + stage.Daemons + ":" + name + withoutAnnotation,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + stage.Daemons, "system:authenticated"},
		})
	}
}

// Real DaemonSets with their real rights and the tokens from their pods.
var _ = Describe("the use case", func() {
	for _, u := range useCases {
		Describe(u.name, func() {
			for _, s := range u.works {
				It(s.what+", as before", Allows(s.by), func(ctx SpecContext) { decide(ctx, podOf(u.name), s.request) })
			}
			for _, s := range u.refused {
				more := Label()
				if s.onlyHardened {
					more = Label(OnHardened)
				}
				It("is denied "+s.what, Denies(s.by), more, func(ctx SpecContext) {
					if s.atAdmission {
						admit(ctx, podOf(u.name), s.request, s.text)
						return
					}
					decide(ctx, podOf(u.name), s.request, s.text)
				})
				It("has "+s.what+" without the annotation", AllowsBy(s.by, Behind), func(ctx SpecContext) {
					decide(ctx, accountWithoutScope(u.name), s.request)
				})
			}
		})
	}
})
