// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// ofPolicy follows a field of the node policy: a nodePolicy in the Installation replaces the whole policy.
const ofPolicy = " Keep the other fields of the policy. " +
	"`bulkhead config print --node-policy` prints the default policy."

// alternatives are what else allows a request that an optional rule denies. They give up less than the mode
// of the rule.
var alternatives = map[rules.ID]string{ //nolint:gosec // G101: texts, not credentials
	"NA-SA-3": "If kubelets have credential providers that use ServiceAccount tokens, set `rules: " +
		"{credentialProviderTokens: true}` instead.",
	"NA-POD-6":       "If pods need longer, set `rules: {terminatedPodGrace: 5m}` instead.",
	"NA-NODE-4":      "Or let the kubelet register first: its Node object must exist.",
	"NA-CSR-1":       "Or read one request by its name. Its spec.username must be the user of the node.",
	"NA-PVC-3":       "Or let the pod own the claim: the claim's controller must be that pod, by name and UID.",
	"NA-ENDPOINTS-1": "Or give the client that reads the endpoints its own ServiceAccount.",
	"NR-POD-10":      "Or set caps.mirrorPods of the node policy to more than 100." + ofPolicy,
	"NR-POD-11":      "Or remove pod affinity, pod anti-affinity and schedulingGroup from the static pod's file.",
	"NR-POD-12":      "Or remove the volume from the static pod's file.",
	"NR-PODMETA-1": "Or let an agent with its own ServiceAccount write the annotation. With a node scope, it needs " +
		"the annotation `bulkhead.dev/node-scoped-exemptions: pod-annotations`.",
	"NR-PODMETA-2":  "Or let a controller with its own ServiceAccount change them.",
	"NR-PODPHASE-1": "Or create the pod again: a pod that has ended does not start again.",
	"NR-PODIP-1": "Or delete the Node, and let it register again with podCIDRs that contain the pod's IP, or without " +
		"podCIDRs. A pod on the host network may only report an address that is in the status of the Node.",
	"NR-PODIP-2":    "Or let the network give the pod another IP.",
	"NR-PODIP-3":    "Or report an address that is in the status of the Node.",
	"NR-NODE-6":     "Or delete the Node with an administrator's credentials.",
	"NR-NODE-7":     "Or let an administrator or a controller set the finalizers and owner references.",
	"NR-CORDON-1":   "Or uncordon the node with an administrator's credentials.",
	"NR-NODESPEC-1": "Or let kube-controller-manager or an administrator set podCIDRs.",
	"NR-NODESPEC-2": "Or set the kubelet's --provider-id, delete the Node, and let the kubelet register it again.",
	"NR-NODESPEC-3": "Or delete the other Node, if its machine is gone.",
	"NR-ADDRESS-1":  "Or correct the kubelet's --node-ip or --hostname-override.",
	"NR-ADDRESS-2":  "Or delete the other Node, if its machine is gone.",
	"NR-ADDRESS-3":  "Or let a cloud provider or an administrator set the new addresses in the status of the Node.",
	"NR-ADDRESS-4":  "Or change the kubelet's port back.",
	"NR-ADDRESS-5":  "Or give the node an address outside of the cluster IPs.",
	"NR-VOLUME-1":   "Or let kube-controller-manager set it.",
	"NR-VOLUME-2":   "Or wait until the kubelet has unmounted the volumes of pods that are gone.",
	"NR-LABEL-3":    "Or remove the label kubernetes.io/hostname from the kubelet's --node-labels.",
	"NR-PVC-3":      "Or let a controller with its own ServiceAccount raise it.",
	"NR-SA-5":       "Or request the token of the account that the pod runs as.",
	"NR-SA-6":       "Or set maxTokenSeconds of the node policy to more than 86400, or to 0 for no limit." + ofPolicy,
	"NR-PCR-6":      "Or set caps.podCertificateRequests of the node policy to more than 1000." + ofPolicy,
	"NR-PCR-7": "Or let a projected volume of the pod have the maxExpirationSeconds and the user annotations of the " +
		"request.",
	"NR-SLICE-3": "Or set caps.resourceSlices of the node policy to more than 1000." + ofPolicy,
	"NR-SLICE-4": "Or name the pool (spec.pool.name) after the node.",
	"NR-CSR-2":   "Or request only names and addresses that are in the status of the Node.",
	"NR-CSR-3":   "Or request the subject O=system:nodes, CN=system:node:NODE, and nothing else.",
	"NR-CSR-4":   "Or let the client request the certificate with its own ServiceAccount.",
	"NR-CSR-5":   "Or set caps.certificateSigningRequests of the node policy to more than 100." + ofPolicy,
	"NR-CSR-6":   "Or create the request without labels, annotations, finalizers and owners.",
	"NR-EVENT-1": "Or let an agent with its own ServiceAccount write the event. With a node scope, it needs the " +
		"annotation `bulkhead.dev/node-scoped-exemptions: event-source`.",
	"NR-EVENT-2":     "Or let the client write the event with its own ServiceAccount.",
	"NR-EVENT-3":     "Or create a new event.",
	"NR-EVENT-4":     "Or let an administrator delete the event.",
	"NR-SIZE-1":      "Or make the object smaller.",
	"NR-FINALIZER-1": "Or let a controller with its own ServiceAccount add the finalizer.",
	"NR-BOOT-1":      "Or request the certificate with other credentials than a bootstrap token.",
	"NR-BOOT-2":      "Or request the subject O=system:nodes, CN=system:node:NODE, and nothing else.",
	"NR-BOOT-3":      "Or delete the Node of that name, if its machine is gone.",
	"NR-BOOT-4": "Or add the name to a row of bootstrapNodeNames of the node policy, for a group of the bootstrap " +
		"token or for its user.",
	"KA-AUDIT-1":  "Or repair the log of kubelet-auth-proxy.",
	"KA-LIMIT-2":  "Or end other streams of the same namespace.",
	"NA-SECRET-3": "Or set configMapAndSecretChangeDetectionStrategy of the KubeletConfiguration to Get or Cache.",
	"NA-CM-3":     "Or set configMapAndSecretChangeDetectionStrategy of the KubeletConfiguration to Get or Cache.",
	"KA-AUD-1":    "Or send a token for an audience in --authentication-token-audiences of kubelet-auth-proxy.",
}

// Alternative returns what else allows a request that an optional rule denies. It may be empty.
func Alternative(id rules.ID) string { return alternatives[id] }
