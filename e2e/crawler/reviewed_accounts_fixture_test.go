// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

// ofAccounts are the accounts whose pods run on every node, or may run on any node. Their rights
// are from RBAC, and are the same on hardened, parity and in-tree. Node scope limits only accounts
// that their owner annotates (docs/node-scope.md).
var ofAccounts = []entry{
	{who: "kube-system/kube-proxy", verbs: "list watch",
		resources: "services endpoints endpointslices.discovery.k8s.io servicecidrs.networking.k8s.io", to: unrelatedOnly,
		why:      "kube-proxy forwards to every service, wherever its pods are (system:node-proxier)",
		neededBy: "kube-proxy, on every node"},
	{who: "kube-system/kube-proxy", verbs: "get list watch", resources: "nodes", to: itsOwn,
		why: "it watches its own Node (system:node-proxier)"},
	{who: "kube-system/kube-proxy", verbs: "get list watch", resources: "nodes", to: others, unscoped: true,
		why:      "RBAC can say no less than all Nodes (system:node-proxier); node scope can, and does",
		neededBy: "not needed: kube-proxy needs its own Node only"},
	{who: "kube-system/kube-proxy", verbs: "create update patch", resources: "events events.events.k8s.io", to: itsOwn,
		why: "it tells what it does on its node (system:node-proxier)"},
	{who: "kube-system/kube-proxy", verbs: "create update patch", resources: "events events.events.k8s.io", to: others,
		unscoped: true,
		why:      "RBAC does not see what an event is about (system:node-proxier); node scope does",
		neededBy: "not needed: kube-proxy writes events about its own Node"},
	{who: "kube-system/bulkhead-kubelet-auth-proxy", verbs: "create",
		resources: "tokenreviews.authentication.k8s.io subjectaccessreviews.authorization.k8s.io", to: noObject,
		why: "it asks who calls its kubelet and what they may; it has no other right (manifests/kubelet-auth-proxy)"},
	{who: "kube-system/coredns", verbs: "list watch", resources: "services endpoints endpointslices.discovery.k8s.io",
		to: unrelatedOnly,
		why: "it answers for every service; one pod of it may be on any node, " +
			"and then so is this right (system:coredns)",
		neededBy: "coredns, which answers for every Service"},
	{who: "kube-system/coredns", verbs: "list watch", resources: "pods", to: everything,
		why:      "kubeadm grants it for names of pods, which its configuration may ask for (system:coredns)",
		neededBy: "coredns with the option pods verified"},
	{who: "kube-system/coredns", verbs: "list watch", resources: "namespaces", to: unrelatedOnly,
		why:      "it answers that a name does not exist only in namespaces that do (system:coredns)",
		neededBy: "coredns, for names of namespaces"},
	{who: "bootstrap token", verbs: "get", resources: "nodes", to: everything,
		why: "kubeadm join looks whether the name is taken (kubeadm:get-nodes); the token that kind leaves on each " +
			"node ends after a day",
		neededBy: "kubeadm join, before it starts the kubelet"},
	{who: "bootstrap token", verbs: "create get list watch", resources: "certificatesigningrequests." + certs,
		to: everything,
		why: "a machine that joins asks for its first certificate (system:node-bootstrapper), in whatever name: " +
			"remove join tokens when nodes have joined",
		neededBy: "the kubelet of a machine that joins"},
	{who: "bootstrap token", verbs: "get", resources: "configmaps", to: everything,
		objects:  "kube-system/kubeadm-config kube-system/kubelet-config kube-system/kube-proxy",
		why:      "kubeadm join reads how the cluster is set up",
		neededBy: "kubeadm join"},
}

// ofTheStage are the rights that the suite itself has granted.
var ofTheStage = []entry{
	{who: "stage/log-collector", verbs: "get list watch", resources: "pods", to: itsOwn,
		why: "it collects the logs of the pods of its node: granted for that"},
	{who: "stage/log-collector", verbs: "get", resources: "nodes", to: itsOwn,
		why: "it labels lines with what its Node says: granted for that"},
	{who: "stage/log-collector", verbs: "list", resources: "services", to: unrelatedOnly,
		why:      "granted, and not in its node scope: what is not named is RBAC's alone [NS-PASS-1]",
		neededBy: "the log collector, by its own grant"},
	{who: "stage/log-collector", verbs: "get list watch", resources: "pods", to: others, unscoped: true,
		why:      "RBAC can say no less than all pods, and nobody reads its annotation where node scope is not installed",
		neededBy: "not needed: the log collector needs the pods of its node only"},
	{who: "stage/log-collector", verbs: "get", resources: "nodes", to: others, unscoped: true, why: "the same of Nodes",
		neededBy: "not needed: the log collector needs its own Node only"},
	{who: "stage/scraper", verbs: "get list watch", resources: "pods nodes", to: everything,
		why: "metrics-server reads the metrics of all nodes and all pods, and shows each kubelet the token that can: " +
			"what its own manifest grants; KA-AUD-1, enforced, keeps tokens that are good at the API server away from kubelets",
		neededBy: "metrics-server"},
	{who: "stage/scraper", verbs: "get",
		resources: "kubelet:/metrics kubelet:/metrics/cadvisor kubelet:/metrics/probes kubelet:/metrics/resource",
		to:        []relation{own, other},
		why: "get nodes/metrics is what it was granted, on every node: numbers, and no logs, no exec, no pods " +
			"[KA-METRICS-1]",
		neededBy: "metrics-server"},
	{who: "stage/tenant", verbs: "get list watch create update patch delete deletecollection", resources: "*",
		to: everything, inStage: true,
		why: "the ClusterRole edit in the namespace of the tenant: what a node's thief does with it, the tenant's own " +
			"people can do",
		neededBy: "the people who deploy to that namespace"},
	{who: "stage/token-minter", verbs: "create", resources: "serviceaccounts/token", to: itsOwn,
		why: "granted: tokens of accounts with a pod on its node, bound to that pod"},
	{who: "stage/token-minter", verbs: "create", resources: "serviceaccounts/token", to: others, unscoped: true,
		why:      "RBAC does not see which pod a token is bound to; node scope does",
		neededBy: "not needed: such an agent needs tokens for pods on its node only"},
}
