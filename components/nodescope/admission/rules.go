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
	seedEdit = "Bulkhead: the seed has a field of the ServiceAccount, out of tree an annotation stands in for it; whom " +
		"it binds must not write it"
)

var (
	asItsNode = rules.Rule{
		ID: "NS-ADMIT-1",
		Description: "On a resource in its scope, a pod writes only what the rules of NodeRestriction let the node write " +
			"that it is on, except that an exemption of its account " +
			"lifts the rules that it stands for on objects of that node; the refusal names the rule of NodeRestriction too.",
		Source:    seed + ", Workflow of NodeRestriction; CVE-2023-26484, CVE-2023-30840",
		Extension: true,
	}
	podWhole = rules.Rule{
		ID: "NS-ADMIT-2",
		Description: "With pods in its scope, a pod changes other parts of a pod than the status, which a kubelet may not, " +
			"only if that pod is on its node; it creates no pods, mirror pods neither.",
		Source:    seed + ", use cases: calico, which patches pods",
		Extension: true,
	}
	podReach = rules.Rule{
		ID: "NS-ADMIT-3",
		Description: "What it changes of a pod so is neither a label nor an owner: these would have Services and " +
			"controllers of the whole cluster take the pod for theirs.",
		Source:    "Bulkhead: attack T6; KEP-1314, and what NodeRestriction keeps a kubelet from through pods/status",
		Extension: true,
	}
	customStays = rules.Rule{
		ID: "NS-CUSTOM-3",
		Description: "With a declared custom resource in its scope, a pod writes an object, or its status, only if the " +
			"object names the pod's node at the declared place before and after.",
		Source: seed + ", use cases: permissions on custom resources; ours: an object that is handed over to another " +
			"node is an order to that node",
		Extension: true,
	}
	markedAccount = rules.Rule{
		ID: "NS-WRITE-1",
		Description: "Who has a scope, of whatever size, puts none of the annotations of node scope on a ServiceAccount, " +
			"changes and removes none there, and deletes no ServiceAccount that has one.",
		Source:    seedEdit,
		Extension: true,
	}
	markedPod = rules.Rule{
		ID: "NS-WRITE-2",
		Description: "Who has a scope, of whatever size, puts none of the annotations of node scope on a pod, also by " +
			"binding it, and changes and removes none there. To delete such a pod is no change: its tokens end with it.",
		Source:    seedEdit,
		Extension: true,
	}
	markedAccountByNode = rules.Rule{
		ID: "NS-WRITE-3",
		Description: "Where node scope is on, a node puts none of its annotations on a ServiceAccount, changes and removes " +
			"none there, and deletes no ServiceAccount that has one, whatever rights it was given.",
		Source:    seedEdit,
		Extension: true,
	}
	markedPodByNode = rules.Rule{
		ID: "NS-WRITE-4",
		Description: "Where node scope is on, a node makes no mirror pod with one of its annotations, and changes and " +
			"removes none on a pod, also through the status.",
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
