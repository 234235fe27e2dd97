// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// noPods leaves no place for a pod on a node.
var noPods = status("allocatable", fields{"pods": "0"})

var _ = tell(Story{
	ID: "T2", Title: "A DaemonSet's token reports that other nodes have no capacity",
	Source: "antrea-io/antrea#4651; rbac-police modify_node_status",
	Effect: "The attacker writes the status of the other nodes. The scheduler finds no place there and puts all " +
		"new pods on the attacker's node.",
	Stops: "With nodes/status in its scope, an account changes only the status of the Node that its pod is on.",
	Attempts: []Attempt{{
		Name:   "setting another node's allocatable pods to 0",
		Effect: "a pod that prefers the other node runs on the attacker's node",
		By:     daemon, Rights: mayPatchNodes, Rule: "NS-NODE-2", Text: onlyOwnNode,
		Prepare: chosenVictim,
		Attack:  sends(func(r *Run) Request { return Patch(api.Nodes).Named(r.Other).Sub("status").With(noPods).Stored() }),
		Show:    landsHere,
		TwinIs:  "the same patch of the status of its own Node (as a dry run)",
		Twin:    sends(func(r *Run) Request { return Patch(api.Nodes).Named(r.Attacker()).Sub("status").With(noPods) }),
	}},
})
