// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// labelled is a Node with a label beside those of every Node.
func labelled(key, value string) nodeEdit {
	return func(n *corev1.Node) { n.Labels = maps.Clone(n.Labels); n.Labels[key] = value }
}

// labelKeys are those that nodes may set, by upstream's fixed policy, and those that
// they may not.
var labelKeys = map[string]bool{
	"kubernetes.io/hostname":                    true,
	"kubernetes.io/os":                          true,
	"kubernetes.io/arch":                        true,
	"beta.kubernetes.io/os":                     true,
	"beta.kubernetes.io/arch":                   true,
	"beta.kubernetes.io/instance-type":          true,
	"node.kubernetes.io/instance-type":          true,
	"topology.kubernetes.io/zone":               true,
	"topology.kubernetes.io/region":             true,
	"failure-domain.beta.kubernetes.io/zone":    true,
	"failure-domain.beta.kubernetes.io/region":  true,
	"kubelet.kubernetes.io/anything":            true,
	"deep.kubelet.kubernetes.io/anything":       true,
	"node.kubernetes.io/anything":               true,
	"deep.node.kubernetes.io/anything":          true,
	"plain":                                     true,
	"example.com/team":                          true,
	"notkubernetes.io/team":                     true,
	"notk8s.io/team":                            true,
	"kubernetes.io.example.com/team":            true,
	"notnode-restriction.kubernetes.io.x/y":     true,
	"kubernetes.io":                             true,
	"node-restriction.kubernetes.io":            true,
	"":                                          true,
	"node-restriction.kubernetes.io/pci":        false,
	"deep.node-restriction.kubernetes.io/pci":   false,
	"node-restriction.kubernetes.io/":           false,
	"kubernetes.io/anything":                    false,
	"kubernetes.io/hostname/":                   false,
	"k8s.io/anything":                           false,
	"deep.kubernetes.io/anything":               false,
	"deep.k8s.io/anything":                      false,
	"node.k8s.io/anything":                      false,
	"node-role.kubernetes.io/control-plane":     false,
	"notnode.kubernetes.io/anything":            false,
	"notkubelet.kubernetes.io/anything":         false,
	"notnode-restriction.kubernetes.io/x":       false,
	"topology.kubernetes.io/rack":               false,
	"failure-domain.beta.kubernetes.io/rack":    false,
	"beta.kubernetes.io/anything":               false,
	"node-restriction.kubernetes.io/nested/pci": false,
	".kubernetes.io/anything":                   false,
}

func TestNodeLabels(t *testing.T) {
	var rows []row
	for _, key := range slices.Sorted(maps.Keys(labelKeys)) {
		set := row{name: "set " + key, write: createNode(labelled(key, "v"))}
		add := row{name: "add " + key, write: updateNode("", unedited, labelled(key, "v"))}
		change := row{name: "change " + key, write: updateNode("", labelled(key, "v"), labelled(key, "w"))}
		remove := row{name: "remove " + key,
			write: updateNode("", labelled(key, "v"), func(n *corev1.Node) { delete(n.Labels, key) })}
		status := row{name: "add through the status " + key, write: updateNode("status", unedited, labelled(key, "v"))}
		keep := row{name: "keep " + key, write: updateNode("", labelled(key, "v"), labelled(key, "v"))}
		if !labelKeys[key] {
			set.by, set.says = "NR-NODE-3", aboutMe+`node "me" is not allowed to set the following labels: `+key+" [NR-NODE-3]"
			for _, r := range []*row{&add, &change, &remove, &status} {
				r.by, r.says = "NR-NODE-3", aboutMe+"is not allowed to modify labels: "+key+" [NR-NODE-3]"
			}
		}
		rows = append(rows, set, add, change, remove, status, keep)
	}
	run(t, restrict(aCluster()), rows)
}

func TestNodeLabelsAreToldInOrder(t *testing.T) {
	before := func(n *corev1.Node) {
		n.Labels = map[string]string{"k8s.io/c": "", "k8s.io/b": "1", "k8s.io/same": "", "free": ""}
	}
	after := func(n *corev1.Node) { n.Labels = map[string]string{"k8s.io/a": "", "k8s.io/b": "2", "k8s.io/same": ""} }
	run(t, restrict(aCluster()), []row{
		{name: "on create", write: createNode(after), by: "NR-NODE-3",
			says: aboutMe + `node "me" is not allowed to set the following labels: k8s.io/a, k8s.io/b, k8s.io/same [NR-NODE-3]`},
		{name: "on update", write: updateNode("", before, after), by: "NR-NODE-3",
			says: aboutMe + "is not allowed to modify labels: k8s.io/a, k8s.io/b, k8s.io/c [NR-NODE-3]"},
		{name: "a value that is empty is not one that is missing", write: updateNode("", unedited, labelled("k8s.io/a", "")),
			by: "NR-NODE-3", says: aboutMe + "is not allowed to modify labels: k8s.io/a [NR-NODE-3]"},
		{name: "no labels at all", write: createNode(func(n *corev1.Node) { n.Labels = nil })},
	})
}
