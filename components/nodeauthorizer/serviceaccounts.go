// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	serviceAccountGet = promise(rules.Rule{
		ID:      "NA-SA-1",
		Promise: "A node may get a service account only if a pod bound to it runs as that account.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeServiceAccount",
	})
	serviceAccountToken = promise(rules.Rule{
		ID:      "NA-SA-2",
		Promise: "A node may create tokens only for a service account that a pod bound to it runs as, and may not list or change accounts.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCreateToken",
	})
)

// authorizeServiceAccount sees whose token is asked for, not the pod that it is
// to be bound to, nor its audience: admission checks those.
func (z *Authorizer) authorizeServiceAccount(node string, a authorizer.Attributes) verdict {
	if a.GetVerb() == "get" && a.GetSubresource() == "" {
		if !z.features.ServiceAccountTokenForCredentialProviders && !z.features.PodCertificateRequest {
			return refuse(serviceAccountGet, "not allowed to get service accounts")
		}
		return z.readNamespaced(serviceAccountGet, node, graph.ServiceAccount, a)
	}
	if a.GetVerb() != "create" || a.GetName() == "" {
		return refuse(serviceAccountToken, "can only create tokens for individual service accounts")
	}
	if a.GetSubresource() != "token" {
		return refuse(serviceAccountToken, "can only create token subresource of serviceaccount")
	}
	return z.related(serviceAccountToken, node, graph.ServiceAccount, a)
}
