// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

// BenchmarkAuthorize measures one decision beside that of an authorizer that always says
// the same, and beside the node authorizer's on the same request.
func BenchmarkAuthorize(b *testing.B) {
	scoped := newOver(b, clusterOf(Account{Scope: mustScope(b, usualScope)}))
	held := row{asks: request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret"}}.complete()
	other := row{asks: request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "their-secret"}}.complete()
	free := row{asks: request{Verb: "list", Resource: "services"}}.complete()
	patched := row{asks: request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "my-pod"}}.complete()
	asNode := *held
	asNode.User = &user.DefaultInfo{Name: "system:node:me", Groups: nodeGroups}
	for _, bc := range []struct {
		name string
		z    NodeAuthorizer
		asks *request
	}{
		{"held-passes", scoped, held},
		{"held-denied", scoped, other},
		{"not-held", scoped, free},
		{"two-questions", scoped, patched},
		{"node-authorizer", scoped.Node, &asNode},
	} {
		b.Run(bc.name, func(b *testing.B) {
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				_ = bc.z.Decide(ctx, bc.asks)
			}
		})
	}
}

// BenchmarkParseScope measures what a hostile annotation costs.
func BenchmarkParseScope(b *testing.B) {
	for name, value := range map[string]string{"usual": usualScope, "256KiB": string(make([]byte, 256<<10))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = ParseScope(value)
			}
		})
	}
}
