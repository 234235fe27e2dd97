// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// oldRecord writes the record of this node as an older version did: without the origin of the setting,
// and without the setting if clients is empty. It returns the record.
func (n *testNode) oldRecord(clients LoopbackClients) string {
	n.t.Helper()
	var record map[string]any
	must(n.t, json.Unmarshal(read(n.t, n.layout.NodeRecord()), &record))
	delete(record, "loopbackClientsFrom")
	delete(record, "loopbackClients")
	if clients != "" {
		record["loopbackClients"] = clients
	}
	data, err := json.Marshal(record)
	must(n.t, err)
	must(n.t, os.WriteFile(n.layout.NodeRecord(), data, 0o600))
	return string(data)
}

// loopbackRun is one run of `bulkhead node install`.
type loopbackRun struct {
	// cluster is the annotation of the proxy's pod. flag is empty if the run has no flag.
	cluster, flag LoopbackClients
	want          LoopbackClients
	from          LoopbackSource
	// says is a part of the output.
	says string
}

func TestValueOfTheClusterAndFlag(t *testing.T) {
	const toAllow = "deny -> allow, the value of the cluster"
	const toDeny = "allow -> deny, the value of the cluster"
	for _, tc := range []struct {
		name string
		runs []loopbackRun
	}{
		{"no annotation: deny", []loopbackRun{{"", "", LoopbackDeny, FromCluster, ""}}},
		{"annotation deny: deny", []loopbackRun{{"deny", "", LoopbackDeny, FromCluster, ""}}},
		{"annotation allow: allow", []loopbackRun{{"allow", "", LoopbackAllow, FromCluster, "loopback clients: allow: "}}},
		{"changed annotation: changed in a repeated run", []loopbackRun{
			{"allow", "", LoopbackAllow, FromCluster, ""}, {"deny", "", LoopbackDeny, FromCluster, toDeny},
			{"allow", "", LoopbackAllow, FromCluster, toAllow}}},
		{"removed annotation: kept in a repeated run", []loopbackRun{
			{"allow", "", LoopbackAllow, FromCluster, ""}, {"", "", LoopbackAllow, FromCluster, ""}}},
		{"flag allow: kept in repeated runs, whatever the cluster has", []loopbackRun{
			{"deny", "allow", LoopbackAllow, FromFlag, `allow by the flag of this node. The cluster has "deny"`},
			{"deny", "", LoopbackAllow, FromFlag, `The cluster has "deny"`}, {"", "", LoopbackAllow, FromFlag, ""}}},
		{"flag deny: kept in repeated runs, whatever the cluster has", []loopbackRun{
			{"allow", "deny", LoopbackDeny, FromFlag, `deny by the flag of this node. The cluster has "allow"`},
			{"allow", "", LoopbackDeny, FromFlag, "--loopback-clients=cluster"}}},
		{"flag, then another flag", []loopbackRun{
			{"deny", "allow", LoopbackAllow, FromFlag, ""}, {"deny", "deny", LoopbackDeny, FromFlag, ""}}},
		{"flag, then the flag with cluster: the annotation", []loopbackRun{
			{"deny", "allow", LoopbackAllow, FromFlag, ""}, {"deny", "cluster", LoopbackDeny, FromCluster, toDeny},
			{"allow", "", LoopbackAllow, FromCluster, toAllow}}},
		{"flag, then the flag with cluster and no annotation: deny", []loopbackRun{
			{"", "allow", LoopbackAllow, FromFlag, ""}, {"", "cluster", LoopbackDeny, FromCluster, toDeny}}},
		{"invalid annotation, with the flag: the flag", []loopbackRun{
			{"maybe", "allow", LoopbackAllow, FromFlag, ""}, {"maybe", "", LoopbackAllow, FromFlag, `The cluster has "maybe"`}}},
	} {
		onNode(t, tc.name, func(t *testing.T, n *testNode) {
			client := n.newClusterCA("cluster")
			for i, run := range tc.runs {
				n.clusterLoopback = run.cluster
				n.out.Reset()
				must(t, n.installer().Install(t.Context(), withClients(run.flag)))
				record, err := ReadRecord(n.layout)
				must(t, err)
				if record.LoopbackClients != run.want || record.LoopbackFrom != run.from {
					t.Errorf("run %d: %s from %s, want %s from %s", i+1, record.LoopbackClients, record.LoopbackFrom, run.want,
						run.from)
				}
				n.mustAccept(client, run.want == LoopbackAllow)
				if out := n.out.String(); !strings.Contains(out, run.says) ||
					strings.Contains(out, "->") != strings.Contains(run.says, "->") {
					t.Errorf("run %d: want %q in the output:\n%s", i+1, run.says, out)
				}
			}
		})
	}
}

// An older version had allow only by the flag. It had deny also without the flag.
func TestValueInARecordOfAnOlderVersion(t *testing.T) {
	for _, tc := range []struct {
		name           string
		recorded, want LoopbackClients
		cluster        LoopbackClients
	}{
		{"allow, cluster with deny: allow", LoopbackAllow, LoopbackAllow, LoopbackDeny},
		{"deny, cluster with allow: allow", LoopbackDeny, LoopbackAllow, LoopbackAllow},
		{"deny, cluster without a value: deny", LoopbackDeny, LoopbackDeny, ""},
		{"no value, cluster with allow: allow", "", LoopbackAllow, LoopbackAllow},
	} {
		onNode(t, tc.name, func(t *testing.T, n *testNode) {
			client := n.newClusterCA("cluster")
			must(t, n.installer().Install(t.Context(), withClients(tc.recorded)))
			n.oldRecord(tc.recorded)
			n.clusterLoopback = tc.cluster
			must(t, n.installer().Install(t.Context(), kubeletOptions))
			n.mustAccept(client, tc.want == LoopbackAllow)
		})
	}
}

func TestInvalidAnnotationChangesNothing(t *testing.T) {
	const says = `annotation bulkhead.dev/loopback-clients of this node's kubelet-auth-proxy: invalid value "maybe"`
	onNode(t, "new node", func(t *testing.T, n *testNode) {
		n.clusterLoopback = "maybe"
		before, starts := n.snapshot(), n.restarts
		mentions(t, n.installer().Install(t.Context(), kubeletOptions), says)
		n.mustBe(before)
		if n.restarts != starts {
			t.Error("the kubelet was restarted")
		}
	})
	onNode(t, "repeated run", func(t *testing.T, n *testNode) {
		n.newClusterCA("cluster")
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.clusterLoopback = "cluster"
		before := n.snapshot()
		mentions(t, n.installer().Install(t.Context(), kubeletOptions), `invalid value "cluster"`)
		n.mustBe(before)
	})
}

// A node that joins later has the value of the cluster.
func TestInstallWhenReadyAppliesTheValueOfTheCluster(t *testing.T) {
	onNode(t, "machine that joins", func(t *testing.T, n *testNode) {
		client := n.newClusterCA("cluster")
		n.clusterLoopback = LoopbackAllow
		n.join()
		n.wait().within(time.Minute)
		n.mustAccept(client, true)
	})
}
