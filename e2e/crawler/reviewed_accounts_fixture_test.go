// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

// ofAccounts are those whose pods are on every node, or may come to any. What they have is
// RBAC's, and is the same on hardened, parity and in-tree: node scope holds those whose
// owners annotate them (docs/node-scope.md).
var ofAccounts = []entry{
	{who: "kube-system/kube-proxy", verbs: "list watch", resources: "services endpoints endpointslices.discovery.k8s.io servicecidrs.networking.k8s.io", to: nobodys,
		why: "kube-proxy forwards to every service, wherever its pods are (system:node-proxier)"},
	{who: "kube-system/kube-proxy", verbs: "get list watch", resources: "nodes", to: itsOwn, why: "it watches its own Node (system:node-proxier)"},
	{who: "kube-system/kube-proxy", verbs: "get list watch", resources: "nodes", to: others, unscoped: true,
		why: "RBAC can say no less than all Nodes (system:node-proxier); node scope can, and does"},
	{who: "kube-system/kube-proxy", verbs: "create update patch", resources: "events events.events.k8s.io", to: itsOwn, why: "it tells what it does on its node (system:node-proxier)"},
	{who: "kube-system/kube-proxy", verbs: "create update patch", resources: "events events.events.k8s.io", to: others, unscoped: true,
		why: "RBAC does not see what an event is about (system:node-proxier); node scope does"},
	{who: "kube-system/bulkhead-kubelet-auth-proxy", verbs: "create", resources: "tokenreviews.authentication.k8s.io subjectaccessreviews.authorization.k8s.io", to: noObject,
		why: "it asks who calls its kubelet and what they may; it has no other right (manifests/kubelet-auth-proxy)"},
	{who: "kube-system/coredns", verbs: "list watch", resources: "services endpoints endpointslices.discovery.k8s.io", to: nobodys,
		why: "it answers for every service; one pod of it may be on any node, and then so is this right (system:coredns)"},
	{who: "kube-system/coredns", verbs: "list watch", resources: "pods", to: everything, why: "kubeadm grants it for names of pods, which its configuration may ask for (system:coredns)"},
	{who: "kube-system/coredns", verbs: "list watch", resources: "namespaces", to: nobodys, why: "it answers that a name does not exist only in namespaces that do (system:coredns)"},
	{who: "bootstrap token", verbs: "get", resources: "nodes", to: everything, why: "kubeadm join looks whether the name is taken (kubeadm:get-nodes); the token that kind leaves on each node ends after a day"},
	{who: "bootstrap token", verbs: "create get list watch", resources: "certificatesigningrequests." + certs, to: everything,
		why: "a machine that joins asks for its first certificate (system:node-bootstrapper), in whatever name: remove join tokens when nodes have joined"},
	{who: "bootstrap token", verbs: "get", resources: "configmaps", to: everything, objects: "kube-system/kubeadm-config kube-system/kubelet-config kube-system/kube-proxy",
		why: "kubeadm join reads how the cluster is set up"},
}

// ofTheStage is what the suite itself has granted.
var ofTheStage = []entry{
	{who: "stage/log-collector", verbs: "get list watch", resources: "pods", to: itsOwn, why: "it collects the logs of the pods of its node: granted for that"},
	{who: "stage/log-collector", verbs: "get", resources: "nodes", to: itsOwn, why: "it labels lines with what its Node says: granted for that"},
	{who: "stage/log-collector", verbs: "list", resources: "services", to: nobodys, why: "granted, and not in its node scope: what is not named is RBAC's alone [NS-PASS-1]"},
	{who: "stage/log-collector", verbs: "get list watch", resources: "pods", to: others, unscoped: true,
		why: "RBAC can say no less than all pods, and nobody reads its annotation where node scope is not installed"},
	{who: "stage/log-collector", verbs: "get", resources: "nodes", to: others, unscoped: true, why: "the same of Nodes"},
	{who: "stage/scraper", verbs: "get list watch", resources: "pods nodes", to: everything,
		why: "metrics-server reads the metrics of all nodes and all pods, and shows each kubelet the token that can: what its own manifest grants; KA-AUD-1, enforced, keeps tokens that are good at the API server away from kubelets"},
	{who: "stage/scraper", verbs: "get", resources: "kubelet:/metrics kubelet:/metrics/cadvisor kubelet:/metrics/probes kubelet:/metrics/resource", to: []relation{own, other},
		why: "get nodes/metrics is what it was granted, on every node: numbers, and no logs, no exec, no pods [KA-METRICS-1]"},
}
