// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
)

func TestMachineTable(t *testing.T) {
	const (
		pool   = "example.com/pool"
		labels = `nodes "me" is forbidden: ` +
			`node "me" is not allowed to set other labels than the machine table has for "m*": example.com/pool [NR-MACHINE-2]`
	)
	table := "machines:\n- {name: \"m*\", labels: {example.com/pool: pii}, taints: [{key: dedicated, value: pii, " +
		"effect: NoSchedule}]}\n"
	pii := aTaint("dedicated", "pii", "NoSchedule")
	change := func(from, to string) admission.Attributes {
		return write("me", admission.Update, "nodes", "status", aNode("me", label(pool, to)), aNode("me", label(pool, from)))
	}
	const lacks = `nodes "me" is forbidden: ` +
		`node "me" must be registered with the taints that the machine table has for "m*": ` +
		`dedicated=pii:NoSchedule [NR-MACHINE-1]`
	c := newHere()
	run(t, withPolicy(t, c, table), []row{
		{"with the taints of its row it may register", register(tainted(pii)), "", 0, ""},
		{"without them it may not", register(), "NR-MACHINE-1", 0, lacks},
		{"with another value it may not", register(tainted(aTaint("dedicated", "web", "NoSchedule"))), "NR-MACHINE-1", 0,
			lacks},
		{"with another effect it may not", register(tainted(aTaint("dedicated", "pii", "NoExecute"))), "NR-MACHINE-1", 0,
			lacks},
		{"the label of its row may be set", register(tainted(pii), label(pool, "pii")), "", 0, ""},
		{"not with another value", register(tainted(pii), label(pool, "web")), "NR-MACHINE-2", 0, labels},
		{"it may be set later", change("-", "pii"), "", 0, ""},
		{"it may be put right", change("web", "pii"), "", 0, ""},
		{"it may not be changed", change("pii", "web"), "NR-MACHINE-2", 0, labels},
		{"it may not be removed", change("pii", "-"), "NR-MACHINE-2", 0, labels},
		{"node without a row: allowed",
			write("other", admission.Create, "nodes", "", aNode("other", label(pool, "web")), nil), "", 0, ""},
	})
	run(t, withPolicy(t, c, table+"allowedLabels: []\nallowedTaints: []"), []row{
		{"taints and labels of the row need no other leave", register(tainted(pii), label(pool, "pii")), "", 0, ""},
		{"allowedLabels empty, label of the row set later: allowed", change("-", "pii"), "", 0, ""},
		{"another taint does", register(tainted(pii, aTaint("dedicated", "pii", "NoExecute"))), "NR-TAINT-1", 0,
			`nodes "me" is forbidden: node "me" is not allowed to set the following taints: dedicated [NR-TAINT-1]`},
	})
	there := aCluster()
	run(t, withPolicy(t, there, table),
		[]row{{"re-registration of an existing node without the taint: denied", register(), "NR-MACHINE-1", 0, lacks}})
}

// If the machine table has addresses for a node, the first node to register cannot use the address
// of another node.
func TestMachineAddresses(t *testing.T) {
	const table = "machines:\n- {name: me, addresses: [192.0.2.1, \"2001:db8::/64\"]}\n- {name: \"m*\", addresses: " +
		"[]}\n- {name: other}\n"
	says := func(address, row string) string {
		return `nodes "` + map[string]string{"me": "me", "m*": "me2"}[row] + `" is forbidden: node "` +
			map[string]string{"me": "me", "m*": "me2"}[row] +
			`" is not allowed to report the address "` + address + `": the machine table has others for "` + row +
			`" [NR-MACHINE-3]`
	}
	had := reporting(10250, "InternalIP", "192.0.2.9")
	of := func(name string, edits ...func(*corev1.Node)) admission.Attributes {
		return write(name, admission.Create, "nodes", "", aNode(name, edits...), nil)
	}
	run(t, withPolicy(t, networked(), table), []row{
		{"registers with its address", making(reporting(0, "InternalIP", "192.0.2.1")), "", 0, ""},
		{"registers with its neighbour's address", making(reporting(0, "InternalIP", "192.0.2.2")), "NR-MACHINE-3", 0,
			says("192.0.2.2", "me")},
		{"registers with both", making(reporting(0, "InternalIP", "192.0.2.1", "ExternalIP", "192.0.2.2")), "NR-MACHINE-3", 0,
			says("192.0.2.2", "me")},
		{"registers with an address of its range", making(reporting(0, "InternalIP", "2001:db8::7")), "", 0, ""},
		{"registers with one outside of its range", making(reporting(0, "InternalIP", "2001:db8:0:1::7")), "NR-MACHINE-3", 0,
			says("2001:db8:0:1::7", "me")},
		{"IPv4 in IPv6 is the IPv4 address", making(reporting(0, "InternalIP", "::ffff:192.0.2.2")), "NR-MACHINE-3", 0,
			says("::ffff:192.0.2.2", "me")},
		{"its own IPv4 address in IPv6", making(reporting(0, "InternalIP", "::ffff:192.0.2.1")), "", 0, ""},
		{"an IP as a host name", making(reporting(0, "Hostname", "192.0.2.2")), "NR-MACHINE-3", 0, says("192.0.2.2", "me")},
		{"its own name", making(reporting(0, "Hostname", "me")), "", 0, ""},
		{"its own name in another spelling", making(reporting(0, "InternalDNS", "ME.")), "", 0, ""},
		{"another name", making(reporting(0, "Hostname", "other.example")), "NR-MACHINE-3", 0, says("other.example", "me")},
		{"its own name as an IP", making(reporting(0, "InternalIP", "me")), "NR-MACHINE-3", 0, says("me", "me")},
		{"an IP with a zone", making(reporting(0, "InternalIP", "2001:db8::1%1")), "NR-MACHINE-3", 0,
			says("2001:db8::1%1", "me")},
		{"no address yet", making(reporting(0)), "", 0, ""},
		{"reports its address later",
			changing("status", had, reporting(10250, "InternalIP", "192.0.2.9", "ExternalIP", "192.0.2.1")), "", 0, ""},
		{"reports its neighbour's later",
			changing("status", had, reporting(10250, "InternalIP", "192.0.2.9", "ExternalIP", "192.0.2.2")), "NR-MACHINE-3", 0,
			says("192.0.2.2", "me")},
		{"an empty list allows none", of("me2", reporting(0, "InternalIP", "192.0.2.1")), "NR-MACHINE-3", 0,
			says("192.0.2.1", "m*")},
		{"row without addresses: allowed", of("other", reporting(0, "InternalIP", "192.0.2.2")), "", 0, ""},
	})
}
