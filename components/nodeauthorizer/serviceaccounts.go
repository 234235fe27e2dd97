// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	serviceAccountGet = rules.Rule{
		ID:          "NA-SA-1",
		Description: "A node may get a service account only if a pod bound to it runs as that account.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeServiceAccount",
	}
	serviceAccountToken = rules.Rule{
		ID: "NA-SA-2",
		Description: "A node may create tokens only for a service account that a pod bound to it runs as, and may not list " +
			"or change accounts.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCreateToken",
	}
	serviceAccountUsable = rules.Rule{
		ID: "NA-SA-3",
		Description: "A node may create tokens of an account only if a pod that is bound to it and runs as that " +
			"account mounts such a token, or has a volume whose driver may request one. It may get the account " +
			"only if such a pod mounts a pod certificate. If the kubelets have credential providers that use " +
			"tokens, every pod that runs as the account is enough.",
		Source: "Bulkhead: upstream gives the account of every pod, and its tokens, even if the pod mounts none " +
			"(plugin/pkg/auth/authorizer/node/graph.go AddPod)",
		Extension: true,
		Optional:  true,
	}
)

const (
	serviceAccountGetOff      = "not allowed to get service accounts"
	serviceAccountTokenOnly   = "can only create tokens for individual service accounts"
	serviceAccountSubresource = "can only create token subresource of serviceaccount"
)

// authorizeServiceAccount knows the service account of the requested token. It does not know the
// pod to which the token will be bound, nor the audience. Admission checks both.
func (z *Authorizer) authorizeServiceAccount(ctx context.Context, node string, a *request) rules.Decision {
	if a.Verb == "get" && a.Subresource == "" {
		if !z.features.ServiceAccountTokenForCredentialProviders && !z.features.PodCertificateRequest {
			return deny(serviceAccountGet, serviceAccountGetOff)
		}
		return z.readNamespaced(ctx, serviceAccountGet, node, graph.ServiceAccount, a)
	}
	if a.Verb != "create" || a.Name == "" {
		return deny(serviceAccountToken, serviceAccountTokenOnly)
	}
	if a.Subresource != "token" {
		return deny(serviceAccountToken, serviceAccountSubresource)
	}
	return z.related(ctx, serviceAccountToken, node, graph.ServiceAccountToken, a)
}
