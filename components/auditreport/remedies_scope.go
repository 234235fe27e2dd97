// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// scopeRemedies say what allows a request on a resource in the scope of a ServiceAccount.
var scopeRemedies = map[rules.ID]string{
	"NS-IDENT-2": "Use a token that names its pod: that of a projected volume, or a TokenRequest with " +
		"spec.boundObjectRef. No change of the scope allows a token with incomplete claims of its pod.",
	"NS-IDENT-4": "Use the token of a pod that is bound to a node, requested after it was bound: it names that node.",
	"NS-SCOPE-1": "Request only what the node of the pod may do: the reason names the rule of node-authorizer.",
	"NS-NODE-1":  "Name the Node that the pod is on, or add the field selector metadata.name=NODE.",
	"NS-NODE-2":  "Update and patch are allowed for the Node that the pod is on, and for its status.",
	"NS-NODE-3":  "Use the kubelet of the Node that the pod is on.",
	"NS-POD-1": "Add the field selector spec.nodeName=NODE, with the node that the pod is on. Or name one pod on " +
		"that node.",
	"NS-POD-2": "Patch is allowed for pods on the node of the pod.",
	"NS-POD-3": "Delete, create of pods/eviction, and update and patch of pods/status are allowed for pods on the " +
		"node of the pod.",
	"NS-POD-4":    "Only pods on the same node are allowed.",
	"NS-CUSTOM-1": "Add a selector that sets the declared field or label to the node of the pod.",
	"NS-CUSTOM-2": "Get, update, patch and delete are allowed for an object that names the node of the pod at the " +
		"declared place, and for its status.",
	"NS-CUSTOM-3": "The object must name the node of the pod at the declared place, before and after the write.",
	"NS-ADMIT-1": "Write only what the node of the pod may write: the message names the rule of NodeRestriction. " +
		"For NR-NODE-4, NR-CORDON-1, NR-ANNOTATION-1, NR-PODMETA-1 and NR-EVENT-1, the annotation " +
		"bulkhead.dev/node-scoped-exemptions of the ServiceAccount has exemptions: taints, uncordon, node-annotations, " +
		"pod-annotations and event-source.",
	"NS-ADMIT-2": "spec.nodeName of the pod must be the node of the pod that writes. No pod with a scope on pods " +
		"may create pods.",
	"NS-ADMIT-3": "Change neither labels nor owner references of pods.",
}

// unknownScopeRemedies are those of a rule that denies because the scope is not known.
var unknownScopeRemedies = map[rules.ID]string{
	"NS-IDENT-3": "Use the token of a pod that exists and runs as the account.",
}

// anyScopeRemedies are those of rules that apply to a scope of any size.
var anyScopeRemedies = map[rules.ID]string{
	"NS-IMPERSONATE-1": "Impersonate only the node of the pod.",
	"NS-TOKEN-1":       "Request tokens and pod certificates only for accounts that pods on the node of the pod run as.",
	"NS-TOKEN-2": "Bind the token to a pod on the node of the pod that runs as the token's account: " +
		"spec.boundObjectRef with its name and UID.",
	"NS-TOKEN-3": "Use a projected volume or a TokenRequest instead of a secret of type " +
		"kubernetes.io/service-account-token. Let an administrator create bootstrap tokens.",
	"NS-GRANT-1": "Let an administrator or an account without a scope grant the right.",
	"NS-WRITE-1": "Let an administrator or an account without a scope write the annotation.",
	"NS-WRITE-2": "Let an administrator or an account without a scope write the annotation.",
}

// otherScopeRemedies are complete without a change of the scope.
var otherScopeRemedies = map[rules.ID]string{
	"NS-IDENT-1": "Use the token of a ServiceAccount with a namespace and a name. No setting allows another user " +
		"name of this form, because no such ServiceAccount can exist.",
	"NS-PASS-1": "Grant the right to the ServiceAccount by RBAC: the resource is in no scope.",
	"NS-PASS-2": "Grant the right to the ServiceAccount by RBAC: such requests are in no scope.",
	"NS-PASS-3": "Grant the right to the ServiceAccount by RBAC: its scope is in mode audit.",
	"NS-UNREADY": "Wait until node-authorizer and node-restriction have read the cluster: `bulkhead status` shows " +
		"whether they are ready. If an object cannot be read, the reason says why.",
	"NS-WRITE-3": "Let an administrator or the owner of the ServiceAccount write the annotation. No setting allows " +
		"a node to write it while node scope is on: it could take its pods out of their scope.",
	"NS-WRITE-4": "Remove the annotation from the file of the static pod. Let the owner of other pods write it. No " +
		"setting allows a node to write it while node scope is on: it could take its pods out of their scope.",
}

// scopeRemedy returns the remedy of a rule of node scope, with the ServiceAccount as NAMESPACE/NAME if it
// is known.
func scopeRemedy(id rules.ID, account string) (remedy string, known bool) {
	if account == "" {
		account = anyAccount
	}
	if text, ok := unknownScopeRemedies[id]; ok {
		return text + " No change of the scope allows it: without the pod, the scope is unknown, and every resource that " +
			"a scope can contain is denied. The annotation `bulkhead.dev/node-scope-mode: audit` on ServiceAccount " +
			account + " keeps the scope from denying.", true
	}
	if text, ok := scopeRemedies[id]; ok {
		or := " Or take"
		if id == "NS-IDENT-2" {
			or = " If the token names no pod, you can also take"
		}
		return text + or + " the resource out of the scope of the ServiceAccount. From an audit log, `bulkhead scope " +
			"suggest " + account + " --audit-log=FILE` prints a scope that allows what the account does. Until " +
			"then, its annotation `bulkhead.dev/node-scope-mode: audit` keeps the scope from denying.", true
	}
	if text, ok := anyScopeRemedies[id]; ok {
		return text + " A scope of any size denies it: to allow it, remove the annotation " +
			"bulkhead.dev/node-scoped-resources from ServiceAccount " + account + " and its pods, or set " +
			"`bulkhead.dev/node-scope-mode: audit` on the account.", true
	}
	text, ok := otherScopeRemedies[id]
	return text, ok
}
