// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"io"

	"k8s.io/client-go/kubernetes"
)

// Bindings looks for rights that RBAC gives to nodes in addition to Bulkhead's rules.
func Bindings(ctx context.Context, client kubernetes.Interface, profile string) ([]Finding, error) {
	return bindingFindings(ctx, Input{Client: client, Profile: profile})
}

// NamelessNodes looks for users in the group system:nodes without a node name.
func NamelessNodes(ctx context.Context, client kubernetes.Interface) ([]Finding, error) {
	return requestFindings(ctx, Input{Client: client})
}

// ScopeEditors returns the bindings that let all ServiceAccounts write ServiceAccounts, and so remove
// the node scope of another account.
func ScopeEditors(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	return editorsAmongAccounts(ctx, Input{Client: client})
}

// StaleTokens returns how many requests had a token that is valid only because kube-apiserver extends
// tokens.
func StaleTokens(ctx context.Context, metrics func(context.Context) (io.ReadCloser, error)) (float64, error) {
	return readStaleTokens(ctx, Input{Metrics: metrics})
}
