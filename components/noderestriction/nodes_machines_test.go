// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

func TestMachineTable(t *testing.T) {
	const (
		pool   = "example.com/pool"
		labels = `nodes "me" is forbidden: node "me" is not allowed to set other labels than the machine table has for "m*": example.com/pool [NR-MACHINE-2]`
	)
	table := "machines:\n- {name: \"m*\", labels: {example.com/pool: pii}, taints: [{key: dedicated, value: pii, effect: NoSchedule}]}\n"
	pii := aTaint("dedicated", "pii", "NoSchedule")
	change := func(from, to string) admission.Attributes {
		return write("me", admission.Update, "nodes", "status", aNode("me", label(pool, to)), aNode("me", label(pool, from)))
	}
	const lacks = `nodes "me" is forbidden: node "me" must be registered with the taints that the machine table has for "m*": dedicated=pii:NoSchedule [NR-MACHINE-1]`
	c := newHere()
	run(t, withPolicy(t, c, table), []row{
		{"with the taints of its row it may register", register(tainted(pii)), "", 0, ""},
		{"without them it may not", register(), "NR-MACHINE-1", 0, lacks},
		{"with another value it may not", register(tainted(aTaint("dedicated", "web", "NoSchedule"))), "NR-MACHINE-1", 0, lacks},
		{"with another effect it may not", register(tainted(aTaint("dedicated", "pii", "NoExecute"))), "NR-MACHINE-1", 0, lacks},
		{"the label of its row may be set", register(tainted(pii), label(pool, "pii")), "", 0, ""},
		{"not with another value", register(tainted(pii), label(pool, "web")), "NR-MACHINE-2", 0, labels},
		{"it may be set later", change("-", "pii"), "", 0, ""},
		{"it may be put right", change("web", "pii"), "", 0, ""},
		{"it may not be changed", change("pii", "web"), "NR-MACHINE-2", 0, labels},
		{"it may not be removed", change("pii", "-"), "NR-MACHINE-2", 0, labels},
		{"who has no row is not held to one", write("other", admission.Create, "nodes", "", aNode("other", label(pool, "web")), nil), "", 0, ""},
	})
	run(t, withPolicy(t, c, table+"allowedLabels: []\nallowedTaints: []"), []row{
		{"taints and labels of the row need no other leave", register(tainted(pii), label(pool, "pii")), "", 0, ""},
		{"nor does the label later", change("-", "pii"), "", 0, ""},
		{"another taint does", register(tainted(pii, aTaint("dedicated", "pii", "NoExecute"))), "NR-TAINT-1", 0,
			`nodes "me" is forbidden: node "me" is not allowed to set the following taints: dedicated [NR-TAINT-1]`},
	})
	there := aCluster()
	run(t, withPolicy(t, there, table), []row{{"a node that is there is held to it as well", register(), "NR-MACHINE-1", 0, lacks}})
}
