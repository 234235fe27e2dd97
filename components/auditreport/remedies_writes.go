// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// ofPlugin follows the remedies of [writeRemedies]. It is not for a pod with a node scope.
const ofPlugin = " No setting allows a node anything else: the NodeRestriction plugin of Kubernetes denies it " +
	"too. If the client is not the kubelet, give it its own ServiceAccount."

// writeRemedies say what allows a write that node-restriction denies by a rule without a mode and without a
// field.
var writeRemedies = map[rules.ID]string{
	"NR-IDENT-1": "Use credentials with a node name: user system:node:NAME in group system:nodes.",
	"NR-POD-1": "A node creates only pods with the annotation kubernetes.io/config.mirror. Create other pods with " +
		"an administrator's credentials, or as static pods.",
	"NR-POD-2": "Set spec.nodeName to the node, and one owner reference: the node's Node with its UID, controller: " +
		"true, and no blockOwnerDeletion.",
	"NR-POD-3": "Remove from the static pod's file what the message names. If the pod needs it, create the pod " +
		"through the API server, for example with a DaemonSet.",
	"NR-POD-4": "spec.nodeName of the pod must be the node. Let an administrator or a controller delete other pods.",
	"NR-POD-5": "Update the status (pods/status). To change a mirror pod, change the file of its static pod. Let an " +
		"administrator or a controller change other pods.",
	"NR-POD-6": "spec.nodeName of the pod must be the node, and the operation an update.",
	"NR-POD-7": "Let an administrator or a controller change the labels, and kube-controller-manager or " +
		"kube-scheduler the status of resource claims.",
	"NR-POD-8": "spec.nodeName of the pod must be the node. Let an administrator or a controller evict other pods.",
	"NR-POD-9": "Write pods/status or pods/eviction. Let other clients write the other subresources, with their own " +
		"accounts.",
	"NR-NODE-1": "Write the Node with the node's own name. Let an administrator or a controller write other Nodes.",
	"NR-NODE-2": "Remove spec.configSource: no kubelet since Kubernetes 1.24 reads it.",
	"NR-NODE-5": "Let an administrator or a controller set the owner references.",
	"NR-PVC-1": "Update the status (persistentvolumeclaims/status). Let an administrator or a controller write the " +
		"rest.",
	"NR-PVC-2": "Change only status.capacity and status.conditions. While RecoverVolumeExpansionFailure is on, " +
		"status.allocatedResources and status.allocatedResourceStatuses too. Let an administrator or a controller " +
		"write the rest.",
	"NR-SA-1": "Set spec.boundObjectRef of the TokenRequest to a pod: apiVersion v1, kind Pod, and its name and UID.",
	"NR-SA-2": "The pod in spec.boundObjectRef must exist, with this UID.",
	"NR-SA-3": "spec.nodeName of the pod in spec.boundObjectRef must be the node.",
	"NR-PCR-1": "For create, PodCertificateRequest must be on" + gate + " kube-controller-manager deletes old " +
		"requests.",
	"NR-PCR-2": "spec.nodeName and spec.nodeUID must be those of the node's own Node.",
	"NR-PCR-3": "spec.podName and spec.podUID must be those of a pod that is bound to the node and is not a mirror " +
		"pod.",
	"NR-PCR-4": "spec.serviceAccountName and spec.serviceAccountUID must be those of the account that the pod runs " +
		"as.",
	"NR-LEASE-1":   "Write the lease kube-node-lease/NODE, with the node's own name.",
	"NR-CSINODE-1": "Write the CSINode with the node's own name.",
	"NR-CSINODE-2": "Update the status without a change of the spec. CSIVolumeHealth must be on" + gate,
	"NR-SLICE-1":   "Set spec.nodeName to the node. Let a driver of another kind of slices use its own ServiceAccount.",
	"NR-SLICE-2": "spec.nodeName of the ResourceSlice must be the node. For a collection, add the field selector " +
		"spec.nodeName=NODE.",
}

// otherWriteRemedies are complete without [ofPlugin].
var otherWriteRemedies = map[rules.ID]string{
	"NR-NODE-3": "No setting of profile hardened allows it: Kubernetes denies these labels to nodes. Remove them " +
		"from the kubelet's --node-labels, and let an administrator set them: `kubectl label node NODE KEY=VALUE`.",
	"NR-NODE-4": "Let an administrator change the taints: `kubectl taint node NODE KEY=VALUE:EFFECT`. An agent with " +
		"its own ServiceAccount and a node scope may change those of its node with the annotation " +
		"`bulkhead.dev/node-scoped-exemptions: taints`. In profile parity, `nodePolicy.changeableTaints` lists the " +
		"keys that a node may change. In hardened, no setting does: the NodeRestriction plugin of Kubernetes denies it " +
		"too.",
	"NR-SA-4": "Request at most one audience. A projected volume of the pod must name it " +
		"(serviceAccountToken.audience), or the CSIDriver of a volume of the pod (spec.tokenRequests). Or an " +
		"administrator grants it: a Role in the namespace of the ServiceAccount with apiGroups [\"\"], resources " +
		"[AUDIENCE], resourceNames [SERVICEACCOUNT] and verbs [request-serviceaccounts-token-audience], bound to user " +
		"system:node:NODE of this one node, not to group system:nodes.",
	"NR-PCR-5": "A projected volume of the pod must name the signer (podCertificate.signerName). Or an " +
		"administrator grants it: a Role in the namespace of the ServiceAccount with apiGroups [certificates.k8s.io], " +
		"resources [SIGNER, with a colon for each slash], resourceNames [SERVICEACCOUNT] and verbs " +
		"[request-serviceaccounts-podcertificate-signer], bound to user system:node:NODE of this one node, not to " +
		"group system:nodes.",
	"NR-CSR-1": "Request a certificate with the common name system:node:NODE, with the node's own name. Do not set " +
		"AllowInsecureKubeletCertificateSigningRequests in --feature-gates of kube-apiserver: it turns the rule off, and " +
		"every node could then request certificates of other nodes.",
}
