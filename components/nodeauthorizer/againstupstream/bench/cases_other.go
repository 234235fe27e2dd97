// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import "k8s.io/apiserver/pkg/authentication/user"

var (
	nodeX   = &user.DefaultInfo{Name: "system:node:nodeX", Groups: asNode0.Groups}
	unnamed = &user.DefaultInfo{Name: "system:node:", Groups: asNode0.Groups}
	account = &user.DefaultInfo{Name: "system:serviceaccount:ns0:default", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
)

// OtherCases are the decisions for which the graph is not asked, or not by the
// in-tree authorizer.
func OtherCases() []Case {
	const own = "spec.nodeName=node0"
	const other = "spec.nodeName=node1"
	cases := []Case{
		allowed("list pods -").selecting(own), allowed("watch pods -").selecting(own), refused("list pods -").selecting(other), refused("list pods -"),
		allowed("create pods ns0/-"), allowed("delete pods ns0/pod0-node0"), refused("update pods ns0/pod0-node0"),
		allowed("patch pods/status ns0/pod0-node0"), allowed("create pods/eviction ns0/pod0-node0"), refused("create pods/exec ns0/pod0-node0"),
		allowed("create resourceslices.resource.k8s.io -"), allowed("watch resourceslices.resource.k8s.io -").selecting(own),
		refused("list resourceslices.resource.k8s.io -"),
		allowed("create podcertificaterequests.certificates.k8s.io ns0/-"),
		allowed("watch podcertificaterequests.certificates.k8s.io -").selecting(own), refused("list podcertificaterequests.certificates.k8s.io -"),
		refused("create secrets ns0/x"), refused("list secrets ns0/"), refused("delete persistentvolumes pv0-pod0-node0-ns0"),
		refused("create serviceaccounts ns0/x"),
		path("get", "/api"), path("get", "/metrics"),
		refused("get deployments.apps ns0/x"), refused("get secrets ns0/x").by(account), refused("get secrets ns0/x").by(unnamed),
	}
	cases = append(cases, nodeCases()...)
	return append(cases, uniformCases()...)
}

// nodeCases are about what bears the node's own name.
func nodeCases() []Case {
	const lease, csiNode = "leases.coordination.k8s.io kube-node-lease/", "csinodes.storage.k8s.io "
	return []Case{
		allowed("get nodes node0"), allowed("watch nodes node0"), refused("get nodes node1"), refused("list nodes -"),
		allowed("create nodes -"), allowed("patch nodes/status node0"), refused("delete nodes node0"), refused("get nodes/proxy node0"),
		allowed("get " + lease + "node0"), allowed("update " + lease + "node0"), allowed("create " + lease),
		refused("update " + lease + "node1"), refused("get leases.coordination.k8s.io ns0/node0"), refused("list " + lease),
		allowed("get " + csiNode + "node0"), allowed("patch " + csiNode + "node0"), allowed("create " + csiNode + "-"),
		refused("get " + csiNode + "node1"), refused("list " + csiNode + "-"),
	}
}

// uniformCases are rights that all nodes have alike, and a few that none has.
func uniformCases() []Case {
	return []Case{
		allowed("list services -"), allowed("watch services -"), refused("update services ns0/x"),
		allowed("create events ns0/-"), allowed("patch events ns0/x"), allowed("create events.events.k8s.io ns0/-"), refused("list events ns0/"),
		beyond("get endpoints ns0/x"), refused("list endpoints ns0/"),
		allowed("create tokenreviews.authentication.k8s.io -"), allowed("create subjectaccessreviews.authorization.k8s.io -"),
		allowed("create localsubjectaccessreviews.authorization.k8s.io ns0/"),
		allowed("create certificatesigningrequests.certificates.k8s.io -"),
		allowed("get certificatesigningrequests.certificates.k8s.io csr-node0"), beyond("get certificatesigningrequests.certificates.k8s.io csr-node1"),
		refused("delete certificatesigningrequests.certificates.k8s.io csr-node0"),
		allowed("list csidrivers.storage.k8s.io -"), allowed("watch runtimeclasses.node.k8s.io -"),
		allowed("list clustertrustbundles.certificates.k8s.io -"), refused("create clustertrustbundles.certificates.k8s.io -"),
	}
}
