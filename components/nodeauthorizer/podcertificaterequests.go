// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podCertificateCreate = rules.Rule{
		ID: "NA-PCR-1",
		Description: "While PodCertificateRequest is on, a node may create a PodCertificateRequest, but may never change " +
			"or delete one.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePodCertificateRequest",
	}
	podCertificateGet = rules.Rule{
		ID:          "NA-PCR-2",
		Description: "A node may get only a PodCertificateRequest whose spec.nodeName is its own name.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePodCertificateRequest",
	}
	podCertificateSelected = rules.Rule{
		ID: "NA-PCR-3",
		Description: "A node may list and watch PodCertificateRequests only with the field selector spec.nodeName set to " +
			"its own name.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePodCertificateRequest",
	}
)

const (
	podCertificateStatus = "nodes may not access the status subresource of PodCertificateRequests"
	podCertificatesOfAll = "can only list/watch podcertificaterequests with nodeName field selector"
)

// authorizePodCertificateRequest cannot see the pod, service account and signer of a new request.
// Admission checks them.
func (z *Authorizer) authorizePodCertificateRequest(ctx context.Context, node string, a *request) rules.Decision {
	if !z.features.PodCertificateRequest {
		return noRule(podCertificateCreate, a)
	}
	if a.Subresource != "" {
		return deny(podCertificateCreate, podCertificateStatus)
	}
	switch a.Verb {
	case "create":
		return z.ifRegistered(ctx, node, podCertificateCreate)
	case "get":
		return z.related(ctx, podCertificateGet, node, graph.PodCertificateRequest, a)
	case "list", "watch":
		if !selectsNode(node, a) {
			return deny(podCertificateSelected, podCertificatesOfAll)
		}
		return allow(podCertificateSelected)
	default:
		return deny(podCertificateCreate, "nodes may not "+a.Verb+" podcertificaterequests")
	}
}
