// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// ofNodes follows the remedies of [nodeRemedies]. It is not for a pod with a node scope.
const ofNodes = " Beyond its rules for this resource, profile hardened in mode enforce allows a node nothing: a " +
	"kubelet needs nothing else. If a workload needs it, give the right to the workload's own ServiceAccount. Profile " +
	"parity leaves such requests to RBAC."

const (
	ownSelector = "Add the field selector spec.nodeName=NODE, with the node's own name."
	gate        = " in --feature-gates of kube-apiserver. After a change there, run `bulkhead install` again."
)

// nodeRemedies say what allows a request that node-authorizer denies by a rule without a mode.
var nodeRemedies = map[rules.ID]string{
	"NA-SECRET-1": "For get, a pod that is bound to the node must use the secret, itself or through a persistent " +
		"volume.",
	"NA-SECRET-2": "For list and watch, name the secret (metadata.name=NAME). A pod that is bound to the node must " +
		"use it, itself or through a persistent volume.",
	"NA-CM-1": "For get, a pod that is bound to the node must use the config map.",
	"NA-CM-2": "For list and watch, name the config map (metadata.name=NAME). A pod that is bound to the node must " +
		"use it.",
	"NA-PVC-1":   "For get, a pod that is bound to the node must use the claim.",
	"NA-PVC-2":   "For update and patch of the status, a pod that is bound to the node must use the claim.",
	"NA-PV-1":    "For get, a pod that is bound to the node must use the claim of the volume.",
	"NA-VA-1":    "For get, spec.nodeName of the VolumeAttachment must be the node.",
	"NA-CLAIM-1": "For get, a pod that is bound to the node must use the resource claim.",
	"NA-SA-1": "For get, a pod that is bound to the node must run as the account. " +
		"KubeletServiceAccountTokenForCredentialProviders or PodCertificateRequest must be on" + gate,
	"NA-SA-2": "For create of serviceaccounts/token, name the account. A pod that is bound to the node must run as " +
		"it.",
	"NA-NODE-1":  "Get, list and watch are allowed for the node's own Node, by its name.",
	"NA-NODE-2":  "Create, update and patch are allowed. Let an administrator or a controller delete the Node.",
	"NA-NODE-3":  "Update and patch of nodes/status are allowed.",
	"NA-POD-1":   "For get, spec.nodeName of the pod must be the node.",
	"NA-POD-2":   ownSelector + " Or name one pod that is bound to the node.",
	"NA-POD-3":   "Create and delete are allowed. To change a mirror pod, change the file of its static pod.",
	"NA-POD-4":   "Update and patch of pods/status, and create of pods/eviction, are allowed.",
	"NA-POD-5":   "Create of pods/eviction is allowed.",
	"NA-LEASE-1": "Create the lease in namespace kube-node-lease.",
	"NA-LEASE-2": "Delete is allowed for the lease kube-node-lease/NODE, with the node's own name.",
	"NA-LEASE-3": "Get, update and patch are allowed for the lease kube-node-lease/NODE, with the node's own name.",
	"NA-CSINODE-1": "Create is allowed. Get, update, patch and delete are allowed for the CSINode with the node's " +
		"own name.",
	"NA-CSINODE-2": "Use the CSINode with the node's own name. For its status, CSIVolumeHealth must be on" + gate,
	"NA-SLICE-1": "Create, get, update, patch, delete, list, watch and deletecollection of ResourceSlices are " +
		"allowed, without a subresource.",
	"NA-SLICE-2": "spec.nodeName of the ResourceSlice must be the node.",
	"NA-SLICE-3": ownSelector,
	"NA-PCR-1": "For create, get, list and watch, PodCertificateRequest must be on" + gate + " " +
		"kube-controller-manager deletes old requests.",
	"NA-PCR-2":                         "For get, spec.nodeName of the PodCertificateRequest must be the node.",
	"NA-PCR-3":                         ownSelector,
	"NA-UNI-TOKENREVIEWS":              "Create is allowed: Kubernetes stores no such reviews.",
	"NA-UNI-SUBJECTACCESSREVIEWS":      "Create is allowed: Kubernetes stores no such reviews.",
	"NA-UNI-LOCALSUBJECTACCESSREVIEWS": "Create is allowed: Kubernetes stores no such reviews.",
	"NA-UNI-SERVICES":                  "Get, list and watch are allowed.",
	"NA-UNI-EVENTS":                    "Create, update and patch are allowed.",
	"NA-UNI-ENDPOINTS":                 "Get of one object is allowed, unless NA-ENDPOINTS-1 denies it.",
	"NA-UNI-CERTIFICATESIGNINGREQUESTS": "Create, get, list and watch are allowed. Let an administrator or a " +
		"controller approve, sign or delete the request.",
	"NA-UNI-CSIDRIVERS":          "Get, list and watch are allowed.",
	"NA-UNI-RUNTIMECLASSES":      "Get, list and watch are allowed.",
	"NA-UNI-CLUSTERTRUSTBUNDLES": "For get, list and watch, ClusterTrustBundle must be on" + gate,
	"NA-PASS-2": "For create, ClusterRole system:basic-user must be bound to group system:authenticated. " +
		"kube-apiserver creates this binding when it starts.",
}

// otherNodeRemedies are complete without [ofNodes].
var otherNodeRemedies = map[rules.ID]string{
	"NA-IDENT-1": "Use credentials with a node name: user system:node:NAME in group system:nodes. Without a name, " +
		"no object is the node's own. No setting of profile hardened in mode enforce allows it. Profile parity leaves " +
		"such requests to RBAC.",
	"NA-PASS-1": "For GET of discovery, OpenAPI, version and the plain health paths, ClusterRoles system:discovery " +
		"and system:public-info-viewer must be bound to group system:authenticated. kube-apiserver creates these " +
		"bindings when it starts. No setting of profile hardened in mode enforce allows a node another path, for " +
		"example /metrics. Give the right to the workload's own ServiceAccount. Profile parity leaves such requests to " +
		"RBAC.",
	"NA-PASS-3": "For create of selfnodeclient, ClusterRole " +
		"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient must be bound to group system:nodes. " +
		"`kubectl create clusterrolebinding kubeadm:node-autoapprove-certificate-rotation " +
		"--clusterrole=system:certificates.k8s.io:certificatesigningrequests:selfnodeclient --group=system:nodes` " +
		"creates this binding. No setting of profile hardened in mode enforce allows nodeclient: that is a certificate " +
		"of another node.",
	"NA-PASS-4": "For get, the Role of the config map must be bound in namespace kube-system. kubeadm creates the " +
		"Roles, and binds kubeadm:nodes-kubeadm-config and kubeadm:kubelet-config to group system:nodes. Bind kube-proxy " +
		"to the user of one node: `kubectl -n kube-system create rolebinding NAME --role=kube-proxy " +
		"--user=system:node:NODE`. For list and watch, a pod that is bound to the node must use the config map. No " +
		"setting of profile hardened in mode enforce allows a node to write it.",
	"NA-PASS-5": "An administrator grants the audience or the signer: `bulkhead rules NR-SA-4` and `bulkhead rules " +
		"NR-PCR-5` show the Role. NodeRestriction asks about an audience in the core API group, and about a signer in " +
		"certificates.k8s.io. No setting of profile hardened in mode enforce allows another group.",
	"NA-DEFAULT": "Give the right to the workload's own ServiceAccount, and let the workload use that account. If " +
		"the client is the kubelet of a newer Kubernetes version, upgrade Bulkhead, or set `rules: {unknownResources: " +
		"audit-on-newer-kubernetes}`. No other setting of profile hardened in mode enforce allows a node a " +
		"resource that no rule names. Profile parity leaves such requests to RBAC.",
	"NA-UNREADY": "Wait until node-authorizer has read the cluster: `bulkhead status` shows whether it is ready. " +
		"Until then, the next authorizers decide.",
}
