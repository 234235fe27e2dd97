// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// TestStartupTaint: a node may register with the taint that machine-table-controller replaces, and cannot
// remove it.
func TestStartupTaint(t *testing.T) {
	const (
		fields = "allowedTaints: []\nchangeableTaints: [\"*\"]\n" +
			"machines: [{name: \"m*\", taints: [{key: pool, value: pii, effect: NoSchedule}]}]"
		missing = `nodes "me" is forbidden: node "me" must be registered with the taints that the machine table has ` +
			`for "m*": pool=pii:NoSchedule [NR-MACHINE-1]`
	)
	startup, listed := aTaint(configuration.StartupTaint, "", "NoSchedule"), aTaint("pool", "pii", "NoSchedule")
	run(t, withPolicy(t, newHere(), fields), []row{
		{"startup taint: allowed", register(tainted(startup)), "", 0, ""},
		{"startup taint that evicts: allowed", register(tainted(aTaint(configuration.StartupTaint, "", "NoExecute"))), "", 0,
			""},
		{"startup taint and that of the row: allowed", register(tainted(startup, listed)), "", 0, ""},
		{"that of the row alone: allowed", register(tainted(listed)), "", 0, ""},
		{"neither: denied", register(), "NR-MACHINE-1", 0, missing},
		{"startup taint that only prefers: denied",
			register(tainted(aTaint(configuration.StartupTaint, "", "PreferNoSchedule"))), "NR-TAINT-1", 0,
			`nodes "me" is forbidden: node "me" is not allowed to set the following taints: ` +
				configuration.StartupTaint + " [NR-TAINT-1]"},
	})
	remembered := newHere()
	bad := aTaint("compromised", "", "NoExecute")
	remembered.histories["me"] = NodeHistory{Taints: []corev1.Taint{listed}}
	again := fields + "\nstickyTaints: [\"*\"]"
	run(t, withPolicy(t, remembered, again), []row{
		{"startup taint for a recorded taint of the row: allowed", register(tainted(startup)), "", 0, ""},
		{"neither of them: denied", register(), "NR-MACHINE-1", 0, missing},
	})
	remembered.histories["me"] = NodeHistory{Taints: []corev1.Taint{listed, bad}}
	run(t, withPolicy(t, remembered, again), []row{
		{"startup taint for a recorded taint that is not in the row: denied", register(tainted(startup)), "NR-STICKY-1", 0,
			`nodes "me" is forbidden: node "me" had taints that it must be registered with again: compromised:NoExecute ` +
				`(give them to the kubelet, or have an administrator run: bulkhead taints clear me) [NR-STICKY-1]`},
		{"startup taint and the recorded one: allowed", register(tainted(startup, bad)), "", 0, ""},
	})
	run(t, restrict(aCluster(), policy(t, fields)), []row{
		{name: "node removes the startup taint: denied", write: updateNode("", tainted(startup), unedited), by: "NR-NODE-4",
			says: aboutMe + `node "me" is not allowed to modify taints [NR-NODE-4]`},
	})
}
