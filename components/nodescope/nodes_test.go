// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

func TestNodes(t *testing.T)    { run(t, nodeRows()) }
func TestKubelets(t *testing.T) { run(t, kubeletRows()) }

func nodeRows() []row {
	const asNode = "a pod on node 'me' is limited to what that node may do: "
	const otherNode = asNode + "node 'me' cannot read 'other', only its own Node object [NA-NODE-1] [NS-NODE-1]"
	const allNodes = asNode + "node 'me' cannot read all nodes, only its own Node object [NA-NODE-1] [NS-NODE-1]"
	return []row{
		{"its own Node may get it", nil, "", request{Verb: "get", Resource: "nodes", Name: "me"}, true, "[NS-NODE-1]"},
		{"another Node is refused", nil, "", request{Verb: "get", Resource: "nodes", Name: "other"}, false, otherNode},
		{"a list of its own Node may have it", nil, "",
			request{Verb: "list", Resource: "nodes", Name: "me",
				FieldSelectorRequirements: selectingField("metadata.name", selection.Equals, "me")}, true, "[NS-NODE-1]"},
		{"a list of another Node is refused", nil, "",
			request{Verb: "list", Resource: "nodes", Name: "other",
				FieldSelectorRequirements: selectingField("metadata.name", selection.Equals, "other")}, false, otherNode},
		{"a list of all nodes is refused", nil, "", request{Verb: "list", Resource: "nodes"}, false, allNodes},
		{"a list of nodes by a label is refused", nil, "",
			request{Verb: "list", Resource: "nodes", LabelSelectorRequirements: hostnameLabel}, false, allNodes},
		{"a watch of its own Node may have it", nil, "", request{Verb: "watch", Resource: "nodes", Name: "me"}, true,
			"[NS-NODE-1]"},
		{"a watch of another Node is refused", nil, "", request{Verb: "watch", Resource: "nodes", Name: "other"}, false,
			otherNode},
		{"an update of its own Node may do it", nil, "", request{Verb: "update", Resource: "nodes", Name: "me"}, true,
			"[NS-NODE-2]"},
		{"an update of another Node is refused", nil, "", request{Verb: "update", Resource: "nodes", Name: "other"}, false,
			"a pod on node 'me' cannot update nodes of 'other', only of its own node [NS-NODE-2]"},
		{"a patch of its own Node may do it", nil, "", request{Verb: "patch", Resource: "nodes", Name: "me"}, true,
			"[NS-NODE-2]"},
		{"a patch of another Node is refused", nil, "", request{Verb: "patch", Resource: "nodes", Name: "other"}, false,
			"a pod on node 'me' cannot patch nodes of 'other', only of its own node [NS-NODE-2]"},
		{"a patch of no Node in particular is refused", nil, "", request{Verb: "patch", Resource: "nodes"}, false,
			"a pod on node 'me' cannot patch nodes of '', only of its own node [NS-NODE-2]"},
		{"a patch of its own status may do it", nil, "",
			request{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "me"}, true, "[NS-NODE-2]"},
		{"a patch of another status is refused", nil, "",
			request{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "other"}, false,
			"a pod on node 'me' cannot patch nodes/status of 'other', only of its own node [NS-NODE-2]"},
		{"a patch of another status, its scope having nodes, is refused", nil, "nodes",
			request{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "other"}, false,
			"a pod on node 'me' cannot patch nodes/status of 'other', only of its own node [NS-NODE-2]"},
		{"a patch of another status, its scope having nodes alone, may do it", nil, "nodes/-",
			request{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "other"}, true, "[NS-PASS-1]"},
		{"a new Node is refused", nil, "", request{Verb: "create", Resource: "nodes"}, false,
			"a pod that is limited to its node creates no nodes [NS-NODE-2]"},
		{"the deletion of its own Node is refused", nil, "", request{Verb: "delete", Resource: "nodes", Name: "me"}, false,
			asNode + "no rule allows a node to delete nodes [NA-NODE-2] [NS-NODE-2]"},
		{"the deletion of all nodes is refused", nil, "", request{Verb: "deletecollection", Resource: "nodes"}, false,
			asNode + "no rule allows a node to deletecollection nodes [NA-NODE-2] [NS-NODE-2]"},
		{"the status of its own Node is refused", nil, "",
			request{Verb: "get", Resource: "nodes", Subresource: "status", Name: "me"}, false,
			asNode + "no rule allows a node to get nodes/status [NA-NODE-3] [NS-NODE-1]"},
		{"a subresource of its own Node that is not known is refused", nil, "nodes",
			request{Verb: "get", Resource: "nodes", Subresource: "new", Name: "me"}, false,
			asNode + "no rule allows a node to get nodes/new [NA-NODE-3] [NS-NODE-1]"},
	}
}

// For each subresource that authorizes the kubelet's API: requests for the pod's own node, for
// another node, and outside the scope.
func kubeletRows() []row {
	var rows []row
	for _, name := range []string{
		"spec", kubeletauth.SubresourceProxy, kubeletauth.SubresourceMetrics, kubeletauth.SubresourceStats,
		kubeletauth.SubresourceLog,
		kubeletauth.SubresourceCheckpoint, kubeletauth.SubresourceHealthz, kubeletauth.SubresourceConfigz,
		kubeletauth.SubresourcePods,
		kubeletauth.SubresourceStatusz, kubeletauth.SubresourceAttach, kubeletauth.SubresourceContainerLogs,
		kubeletauth.SubresourceDebug,
		kubeletauth.SubresourceExec, kubeletauth.SubresourcePortForward, kubeletauth.SubresourceRun,
		kubeletauth.SubresourceUnknown,
	} {
		of := func(verb, node string) request {
			return request{Verb: verb, Resource: "nodes", Subresource: name, Name: node}
		}
		refusal := func(verb, node string) string {
			return "a pod on node 'me' cannot " + verb + " nodes/" + name + " of '" + node +
				"', only of its own node [NS-NODE-3]"
		}
		rows = append(rows,
			row{name + " of its own kubelet may get it", nil, "nodes", of("get", "me"), true, "[NS-NODE-3]"},
			row{name + " of another kubelet is refused", nil, "nodes", of("get", "other"), false, refusal("get", "other")},
			row{name + " of its own kubelet, being named, may post to it", nil, "nodes/" + name, of("create", "me"), true,
				"[NS-NODE-3]"},
			row{name + " of another kubelet, being named, is refused", nil, "nodes/" + name, of("create", "other"), false,
				refusal("create", "other")},
			row{name + " of a port of its own node is refused", nil, "nodes", of("get", "me:10250"), false,
				refusal("get", "me:10250")},
			row{name + " of its own node with a scheme is refused", nil, "nodes", of("get", "https:me:"), false,
				refusal("get", "https:me:")},
			row{name + " of no node is refused", nil, "nodes", of("get", ""), false, refusal("get", "")},
			row{name + " of another kubelet, its scope having nodes alone, may get it", nil, "nodes/-", of("get", "other"), true,
				"[NS-PASS-1]"},
		)
	}
	return rows
}
