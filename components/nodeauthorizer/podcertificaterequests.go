// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"fmt"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podCertificateCreate = promise(rules.Rule{
		ID:      "NA-PCR-1",
		Promise: "While PodCertificateRequest is on, a node may create a PodCertificateRequest, but may never change or delete one.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePodCertificateRequest",
	})
	podCertificateGet = promise(rules.Rule{
		ID:      "NA-PCR-2",
		Promise: "A node may get only a PodCertificateRequest whose spec.nodeName is its own name.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePodCertificateRequest",
	})
	podCertificateSelected = promise(rules.Rule{
		ID:      "NA-PCR-3",
		Promise: "A node may list and watch PodCertificateRequests only with the field selector spec.nodeName set to its own name.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePodCertificateRequest",
	})
)

// authorizePodCertificateRequest cannot see for which pod, account and signer a
// request is created; admission checks them.
func (z *Authorizer) authorizePodCertificateRequest(node string, a authorizer.Attributes) verdict {
	if !z.features.PodCertificateRequest {
		return refuse(podCertificateCreate, noRuleAllows(a))
	}
	if a.GetSubresource() != "" {
		return refuse(podCertificateCreate, "nodes may not access the status subresource of PodCertificateRequests")
	}
	switch a.GetVerb() {
	case "create":
		return allow(podCertificateCreate)
	case "get":
		return z.related(podCertificateGet, node, graph.PodCertificateRequest, a)
	case "list", "watch":
		if !selectsNode(node, a) {
			return refuse(podCertificateSelected, "can only list/watch podcertificaterequests with nodeName field selector")
		}
		return allow(podCertificateSelected)
	default:
		return refuse(podCertificateCreate, fmt.Sprintf("nodes may not %s podcertificaterequests", a.GetVerb()))
	}
}
