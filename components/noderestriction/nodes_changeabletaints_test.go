// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestChangeableTaints(t *testing.T) {
	const (
		by   = "NR-NODE-4"
		says = aboutMe + `node "me" is not allowed to modify taints [NR-NODE-4]`
	)
	own, other := aTaint("foo", "v", "NoSchedule"), aTaint("bar", "v", "NoSchedule")
	reserved := aTaint("node-restriction.kubernetes.io/x", "", "NoSchedule")
	run(t, restrict(aCluster(), policy(t, `changeableTaints: [foo, "insecure.*"]`)), []row{
		{name: "add a listed taint: allowed", write: updateNode("", unedited, tainted(own))},
		{name: "remove a listed taint: allowed", write: updateNode("", tainted(own), unedited)},
		{name: "remove a listed taint through the status: allowed", write: updateNode("status", tainted(own), unedited)},
		{name: "change the value of a listed taint: allowed",
			write: updateNode("", tainted(own), tainted(aTaint("foo", "w", "NoSchedule")))},
		{name: "add a taint with a listed prefix: allowed",
			write: updateNode("", tainted(other), tainted(other, aTaint("insecure.x", "", "NoExecute")))},
		{name: "add another taint: denied", write: updateNode("", unedited, tainted(other)), by: by, says: says},
		{name: "remove another taint: denied", write: updateNode("", tainted(other), unedited), by: by, says: says},
		{name: "replace another taint by a listed one: denied", write: updateNode("", tainted(other), tainted(own)),
			by: by, says: says},
		{name: "add a listed taint and another one: denied", write: updateNode("", unedited, tainted(own, other)),
			by: by, says: says},
	})
	condition := aTaint(corev1.TaintNodeUnreachable, "", "NoExecute")
	run(t, restrict(aCluster(), policy(t, `changeableTaints: ["*"]`)), []row{
		{name: "*, any taint: allowed", write: updateNode("", tainted(own), tainted(other))},
		{name: "*, taint of a condition: denied", write: updateNode("", tainted(condition), unedited), by: by, says: says},
		{name: "*, reserved taint: denied", write: updateNode("", tainted(reserved), unedited), by: by, says: says},
	})
	run(t, restrict(aCluster(), policy(t, `changeableTaints: ["node-restriction.kubernetes.io/*", `+
		corev1.TaintNodeUnreachable+"]")), []row{
		{name: "reserved taint, listed by its prefix: allowed", write: updateNode("", tainted(reserved), unedited)},
		{name: "taint of a condition, listed by its key: allowed", write: updateNode("", tainted(condition), unedited)},
	})
	run(t, restrict(aCluster(), policy(t, "changeableTaints: []")), []row{
		{name: "empty list: denied", write: updateNode("", tainted(own), unedited), by: by, says: says},
	})
}

// TestChangeableTaintsKeepFixedTaints: a taint that is sticky, or in the machine table, stays.
func TestChangeableTaintsKeepFixedTaints(t *testing.T) {
	const (
		by   = "NR-NODE-4"
		says = aboutMe + `node "me" is not allowed to modify taints [NR-NODE-4]`
	)
	sticky, listed := aTaint("compromised", "", "NoSchedule"), aTaint("pool", "pii", "NoSchedule")
	run(t, restrict(aCluster(), policy(t, `
changeableTaints: ["*"]
stickyTaints: [compromised]
machines: [{name: "m*", taints: [{key: pool, value: pii, effect: NoSchedule}]}]`)), []row{
		{name: "remove a sticky taint: denied", write: updateNode("", tainted(sticky), unedited), by: by, says: says},
		{name: "add a sticky taint: denied", write: updateNode("", unedited, tainted(sticky)), by: by, says: says},
		{name: "remove a taint of the machine table: denied", write: updateNode("", tainted(listed), unedited), by: by,
			says: says},
		{name: "change a taint of the machine table: denied",
			write: updateNode("", tainted(listed), tainted(aTaint("pool", "x", "NoSchedule"))), by: by, says: says},
		{name: "remove another taint: allowed",
			write: updateNode("", tainted(listed, aTaint("foo", "", "NoSchedule")), tainted(listed))},
	})
}
