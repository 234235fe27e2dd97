// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import . "github.com/bulkhead-k8s/bulkhead/e2e/framework"

// ofKubelets are the rights that a node needs, with the rule that allows them.
var ofKubelets = []entry{
	{who: kubeletName, verbs: "get list watch update patch", resources: "nodes", to: itsOwn,
		why: "a kubelet keeps its own Node up to date [NA-NODE-1, NA-NODE-2]"},
	{who: kubeletName, verbs: "update patch", resources: "nodes/status", to: itsOwn,
		why: "and reports its state [NA-NODE-3]"},
	{who: kubeletName, verbs: "get list watch delete", resources: "pods", to: itsOwn,
		why: "it runs the pods that are bound to it, and deletes those that have ended [NA-POD-1, NA-POD-2, NA-POD-3]"},
	{who: kubeletName, verbs: "create", resources: "pods", to: itsOwn,
		why: "it shows its static pods as mirror pods, in namespaces that are open to them [NA-POD-3, NR-POD-2]"},
	{who: kubeletName, verbs: "update patch", resources: "pods/status", to: itsOwn,
		why: "it reports the state of its own pods [NA-POD-4]"},
	{who: kubeletName, verbs: "create", resources: "pods/eviction", to: itsOwn, why: "it evicts its own pods [NA-POD-5]"},
	{who: kubeletName, verbs: "get list watch", resources: "secrets configmaps", to: itsOwn,
		why: "its pods mount them, and it reads and watches them one by one [NA-SECRET-1, NA-SECRET-2, NA-CM-1, NA-CM-2]"},
	{who: kubeletName, verbs: "get",
		resources: "persistentvolumeclaims persistentvolumes volumeattachments.storage.k8s.io", to: itsOwn,
		why: "it mounts the volumes of its own pods [NA-PVC-1, NA-PV-1, NA-VA-1]"},
	{who: kubeletName, verbs: "update patch", resources: "persistentvolumeclaims/status", to: itsOwn,
		why: "it reports how a volume of its own pods has grown [NA-PVC-2]"},
	{who: kubeletName, verbs: "create", resources: "serviceaccounts/token", to: itsOwn,
		why: "its pods mount tokens of their accounts, bound to them [NA-SA-2, NR-SA-3]"},
	{who: kubeletName, verbs: "get", resources: "serviceaccounts", to: itsOwn, on: Parity,
		why: "upstream has a kubelet get the accounts of its pods whether or not it needs to; NA-SA-3 ends that in hardened"},
	{who: kubeletName, verbs: "get update patch delete", resources: "leases.coordination.k8s.io", to: itsOwn,
		why: "its heartbeat [NA-LEASE-2, NA-LEASE-3]"},
	{who: kubeletName, verbs: "get update patch delete", resources: "csinodes.storage.k8s.io", to: itsOwn,
		why: "the storage drivers on it [NA-CSINODE-2]"},
	{who: kubeletName, verbs: "get list watch create update patch delete deletecollection",
		resources: "resourceslices.resource.k8s.io", to: itsOwn,
		why: "the devices that it offers [NA-SLICE-1, NA-SLICE-2, NA-SLICE-3]"},
	{who: kubeletName, verbs: "get list watch", resources: "podcertificaterequests." + certs, to: itsOwn,
		why: "certificates of its own pods [NA-PCR-2, NA-PCR-3]"},
	{who: kubeletName, verbs: "create get list watch", resources: "certificatesigningrequests." + certs, to: itsOwn,
		why: "it has its own certificates renewed, and waits for that [NA-UNI-CERTIFICATESIGNINGREQUESTS, NA-CSR-1]"},
	{who: kubeletName, verbs: "create update patch", resources: "events events.events.k8s.io", to: itsOwn,
		why: "it tells what becomes of its Node and of its pods [NA-UNI-EVENTS, NR-EVENT-2]"},

	{who: kubeletName, verbs: "get list watch", resources: "services", to: unrelatedOnly,
		why: "every pod is told of the services of its namespace in its environment, and a kubelet does not know " +
			"which will come [NA-UNI-SERVICES]",
		neededBy: "every kubelet, for the environment of its pods"},
	{who: kubeletName, verbs: "get list watch", resources: "csidrivers.storage.k8s.io runtimeclasses.node.k8s.io",
		to: unrelatedOnly, why: "how to mount a volume and how to run a pod is the same on all nodes [NA-UNI-CSIDRIVERS, " +
			"NA-UNI-RUNTIMECLASSES]",
		neededBy: "every kubelet, to mount volumes and to start pods"},
	{who: kubeletName, verbs: "get list watch", resources: "clustertrustbundles." + certs, to: unrelatedOnly,
		why:      "trust anchors that pods mount: public by nature [NA-UNI-CLUSTERTRUSTBUNDLES]",
		neededBy: "every kubelet, for projected volumes"},
	{who: kubeletName, verbs: "get", resources: "configmaps", to: unrelatedOnly,
		objects:  "kube-system/kubeadm-config kube-system/kubelet-config",
		why:      "kubeadm upgrade node reads them with the kubelet's certificate; kubeadm's own roles grant it [NA-PASS-4]",
		neededBy: "kubeadm upgrade node"},
	{who: kubeletName, verbs: "create",
		resources: "tokenreviews.authentication.k8s.io subjectaccessreviews.authorization.k8s.io " +
			"localsubjectaccessreviews.authorization.k8s.io", to: noObject,
		why: "a kubelet asks who calls its own port and what they may; an answer changes nothing [NA-UNI-TOKENREVIEWS, " +
			"NA-UNI-SUBJECTACCESSREVIEWS]"},

	// Rights that upstream's rules leave open. Parity allows them as upstream does. Hardened denies
	// all of them.
	{who: kubeletName, verbs: "get", resources: "endpoints", to: unrelatedOnly, on: Parity,
		why:      "left over from a storage driver that is gone; NA-ENDPOINTS-1 ends it in hardened",
		neededBy: "not needed today: upstream keeps it"},
	{who: kubeletName, verbs: "get list watch", resources: "certificatesigningrequests." + certs, to: others, on: Parity,
		why:      "upstream lets each node read the requests of all; NA-CSR-1 ends it in hardened",
		neededBy: "not needed by a kubelet: upstream keeps it"},
	{who: kubeletName, verbs: "create", resources: "certificatesigningrequests." + certs, to: unrelatedOnly, on: Parity,
		why:      "upstream lets a node ask every signer for anything; NR-CSR-4 ends it in hardened",
		neededBy: "not needed by a kubelet: upstream keeps it"},
	{who: kubeletName, verbs: "create update patch", resources: "events events.events.k8s.io", to: others, on: Parity,
		why:      "upstream lets a node tell events of anybody; NR-EVENT-1 to 3 end it in hardened",
		neededBy: "not needed by a kubelet: upstream keeps it"},
}
