// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podGet = promise(rules.Rule{
		ID:      "NA-POD-1",
		Promise: "A node may get only a pod that is bound to it.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod; KEP-4601",
	})
	podList = promise(rules.Rule{
		ID:      "NA-POD-2",
		Promise: "A node may list and watch pods only with the field selector spec.nodeName set to its own name, or by the name of one pod that is bound to it.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod; KEP-4601",
	})
	podWrite = promise(rules.Rule{
		ID:      "NA-POD-3",
		Promise: "A node may create and delete pods (admission holds it to mirror pods and to its own), but may never change one or delete many at once.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod",
	})
	podStatus = promise(rules.Rule{
		ID:      "NA-POD-4",
		Promise: "Of the subresources of pods, a node may only update and patch the status (admission holds it to its own pods) and create evictions; never exec, attach, log or binding.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod",
	})
	podEviction = promise(rules.Rule{
		ID:      "NA-POD-5",
		Promise: "A node may create evictions of pods (admission holds it to its own pods) and do nothing else with them.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod",
	})
)

func (z *Authorizer) authorizePod(node string, a authorizer.Attributes) verdict {
	if a.GetSubresource() != "" {
		return authorizePodSubresource(a)
	}
	switch a.GetVerb() {
	case "get":
		return z.get(podGet, node, graph.Pod, a)
	case "list", "watch":
		return z.authorizePodList(node, a)
	case "create", "delete":
		return allow(podWrite)
	default:
		return refuse(podWrite, noRuleAllows(a))
	}
}

func (z *Authorizer) authorizePodList(node string, a authorizer.Attributes) verdict {
	if selectsNode(node, a) {
		return allow(podList)
	}
	if a.GetName() != "" {
		return z.related(podList, node, graph.Pod, a)
	}
	return refuse(podList, "can only list/watch pods with spec.nodeName field selector")
}

func authorizePodSubresource(a authorizer.Attributes) verdict {
	verb := a.GetVerb()
	switch {
	case a.GetSubresource() == "status" && (verb == "update" || verb == "patch"):
		return allow(podStatus)
	case a.GetSubresource() == "eviction" && verb == "create":
		return allow(podEviction)
	case a.GetSubresource() == "eviction":
		return refuse(podEviction, noRuleAllows(a))
	default:
		return refuse(podStatus, noRuleAllows(a))
	}
}
