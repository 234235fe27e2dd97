// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Rules are the rules of this package that are not in [nodescope.Rules], in the order of the
// documentation. They only deny. An admitted write has no rule.
var Rules = []rules.Rule{
	asItsNode, podWhole, podReach, customStays,
	markedAccount, markedPod, markedAccountByNode, markedPodByNode,
	tokenBound, tokenSecret,
}

const (
	seed     = "kubernetes/enhancements#944 (Node-Scoped DaemonSet)"
	seedEdit = "Bulkhead: the seed has a field of the ServiceAccount, and Bulkhead an annotation. An account must " +
		"not write its own annotation"
)

var (
	asItsNode = rules.Rule{
		ID: "NS-ADMIT-1",
		Description: "On a resource in its scope, a pod writes only what the rules of NodeRestriction allow the " +
			"pod's node. An exemption of its account turns off the rules that it names, for objects of that node. " +
			"A denial also cites the rule of NodeRestriction.",
		Source:    seed + ", Workflow of NodeRestriction; CVE-2023-26484, CVE-2023-30840",
		Extension: true,
	}
	podWhole = rules.Rule{
		ID: "NS-ADMIT-2",
		Description: "With pods in its scope, a pod changes more of a pod than the status, which a kubelet may " +
			"not, only if that pod is on its node. It creates no pods, also no mirror pods.",
		Source:    seed + ", use cases: calico, which patches pods",
		Extension: true,
	}
	podReach = rules.Rule{
		ID: "NS-ADMIT-3",
		Description: "With such a change of a pod, it changes neither labels nor owners: Services and controllers " +
			"of the whole cluster select pods by these.",
		Source:    "Bulkhead: attack T6; KEP-1314, and what NodeRestriction keeps a kubelet from through pods/status",
		Extension: true,
	}
	customStays = rules.Rule{
		ID: "NS-CUSTOM-3",
		Description: "With a declared custom resource in its scope, a pod writes an object, or its status, only if the " +
			"object names the pod's node at the declared place before and after.",
		Source: seed + ", use cases: permissions on custom resources; Bulkhead: a change of the node in an " +
			"object gives another node work",
		Extension: true,
	}
	markedAccount = rules.Rule{
		ID: "NS-WRITE-1",
		Description: "An account with a scope, of any size, does not set, change or remove an annotation of node " +
			"scope on a ServiceAccount, and does not delete a ServiceAccount that has one.",
		Source:    seedEdit,
		Extension: true,
	}
	markedPod = rules.Rule{
		ID: "NS-WRITE-2",
		Description: "An account with a scope, of any size, does not set, change or remove an annotation of node " +
			"scope on a pod. This includes a binding. It may delete such a pod, because the pod's tokens end with " +
			"it.",
		Source:    seedEdit,
		Extension: true,
	}
	markedAccountByNode = rules.Rule{
		ID: "NS-WRITE-3",
		Description: "While node scope is on, a node does not set, change or remove an annotation of node scope " +
			"on a ServiceAccount, and does not delete a ServiceAccount that has one, whatever rights it has.",
		Source:    seedEdit,
		Extension: true,
	}
	markedPodByNode = rules.Rule{
		ID: "NS-WRITE-4",
		Description: "While node scope is on, a node creates no mirror pod with an annotation of node scope, and " +
			"does not change or remove one on a pod. This includes updates of the status.",
		Source:    seedEdit + "; KEP-1314, Annotation Restrictions",
		Extension: true,
	}

	// unready is shared with the authorizer.
	unready = known("NS-UNREADY")
)

func known(id rules.ID) rules.Rule {
	r, _ := rules.Find(nodescope.Rules, id)
	return r
}
