// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// labelled adds a label to those of aNode.
func labelled(key, value string) nodeEdit {
	return func(n *corev1.Node) { n.Labels = maps.Clone(n.Labels); n.Labels[key] = value }
}

// labelKeys says for each key whether upstream's fixed policy lets nodes set it.
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

func TestNodeLabelsAreReportedInOrder(t *testing.T) {
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

// policy sets a configuration. fields is the configuration without apiVersion and kind.
func policy(t *testing.T, fields string) func(*Config) {
	t.Helper()
	policy, err := configuration.Parse(
		[]byte("apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n" + fields))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Configuration = func() *configuration.Configuration { return policy } }
}

func TestHostnameLabel(t *testing.T) {
	const by = "NR-LABEL-3"
	says := func(value string) string {
		return notAllowed + fmt.Sprintf("set the label kubernetes.io/hostname to %q [NR-LABEL-3]", value)
	}
	hostname := func(value string) func(*corev1.Node) { return label(corev1.LabelHostname, value) }
	run(t, restrict(aCluster(), enforce(by)), []row{
		{name: "create with the own name: allowed", write: making(hostname("me"))},
		{name: "create with another node's name: denied", write: making(hostname("other")), by: by, says: says("other")},
		{name: "create without the label: allowed", write: making(hostname("-"))},
		{name: "create with an empty label: denied", write: making(hostname("")), by: by, says: says("")},
		{name: "update to another node's name: denied", write: changing("", unchanged, hostname("other")), by: by,
			says: says("other")},
		{name: "update to another node's name by the status: denied", write: changing("status", unchanged, hostname("other")),
			by: by, says: says("other")},
		{name: "remove: denied", write: changing("", unchanged, hostname("-")), by: by, says: says("")},
		{name: "add the own name: allowed", write: changing("status", hostname("-"), unchanged)},
		{name: "add another node's name: denied", write: changing("status", hostname("-"), hostname("other")), by: by,
			says: says("other")},
		{name: "keep what an administrator has set: allowed",
			write: changing("status", hostname("example"), hostname("example"))},
		{name: "set it back to the own name: allowed", write: changing("status", hostname("example"), unchanged)},
	})
	again := aCluster()
	again.reported = map[string]Reported{"me": {Hostname: "example"}}
	run(t, restrict(again, enforce(by)), []row{
		{name: "create again with what it had: allowed", write: making(hostname("example"))},
		{name: "create again with another: denied", write: making(hostname("example2")), by: by, says: says("example2")},
		{name: "change to what it had: denied", write: changing("", unchanged, hostname("example")), by: by,
			says: says("example")},
	})
	run(t, restrict(aCluster(), enforce(by),
		policy(t, "machines: [{name: m*, labels: {kubernetes.io/hostname: rack-7}}]")), []row{
		{name: "create with the machine table's: allowed", write: making(hostname("rack-7"))},
	})
	failing := aCluster()
	failing.err = errors.New("timeout")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "create with the own name needs no look-up", write: making(hostname("me"))},
		{name: "create with another, unknown", write: making(hostname("example")), by: by, code: 500,
			says: "timeout [NR-LABEL-3]"},
	})
	run(t, restrict(aCluster()), []row{{name: "off", write: changing("", unchanged, hostname("other"))}})
}

func TestLabelsSetOnce(t *testing.T) {
	const by = "NR-LABEL-4"
	says := func(keys string) string {
		return notAllowed + "change or remove labels that its Node has: " + keys + " [NR-LABEL-4]"
	}
	var rows []row
	for _, key := range []string{
		corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelInstanceTypeStable,
		corev1.LabelInstanceType,
		"topology.ebs.csi.aws.com/zone", "example.com/pool",
	} {
		had, without := label(key, "a"), label(key, "-")
		rows = append(rows,
			row{name: "create: allowed: " + key, write: making(had)},
			row{name: "add: allowed: " + key, write: changing("status", without, had)},
			row{name: "keep: allowed: " + key, write: changing("status", had, had)},
			row{name: "change: denied: " + key, write: changing("status", had, label(key, "b")), by: by, says: says(key)},
			row{name: "change by an update of the Node: denied: " + key, write: changing("", had, label(key, "b")), by: by,
				says: says(key)},
			row{name: "remove: denied: " + key, write: changing("", had, without), by: by, says: says(key)},
		)
	}
	run(t, restrict(aCluster(), enforce(by)), append(rows,
		row{name: "Windows build: allowed",
			write: changing("status", label(corev1.LabelWindowsBuild, "1"), label(corev1.LabelWindowsBuild, "2"))},
		row{name: "hostname is another rule's", write: changing("status", unchanged, label(corev1.LabelHostname, "other"))},
		row{name: "no labels any more: denied", write: changing("", unchanged, func(n *corev1.Node) { n.Labels = nil }),
			by:   by,
			says: says("kubernetes.io/arch, kubernetes.io/os")},
	))
	run(t, restrict(aCluster()), []row{{name: "off", write: changing("", unchanged, label(corev1.LabelArchStable, "b"))}})
	audited := restrict(aCluster(), inMode(rules.Audit, by)).Review(t.Context(),
		changing("", unchanged, label(corev1.LabelArchStable, "b")))
	if found := audited.Audited(); !audited.Allowed() || len(found) != 1 || found[0] != by {
		t.Errorf("audit: %+v", audited)
	}
}

func TestChangeableLabels(t *testing.T) {
	const by = "NR-LABEL-4"
	change := func(key string) row { return row{write: changing("", label(key, "a"), label(key, "b"))} }
	named := func(name string, r row) row { r.name = name; return r }
	denied := func(name, key string) row {
		r := named(name, change(key))
		r.by, r.says = by, notAllowed+"change or remove labels that its Node has: "+key+" [NR-LABEL-4]"
		return r
	}
	run(t, restrict(aCluster(), enforce(by),
		policy(t, `changeableLabels: ["topology.ebs.csi.aws.com/*", topology.kubernetes.io/zone]`)), []row{
		named("listed prefix: allowed", change("topology.ebs.csi.aws.com/zone")),
		named("listed key: allowed", change("topology.kubernetes.io/zone")),
		denied("other key: denied", "topology.kubernetes.io/region"),
		denied("other prefix: denied", "topology.csi.example.com/zone"),
	})
	run(t, restrict(aCluster(), enforce(by), policy(t, `allowedLabels: ["topology.*"]`)), []row{
		denied("allowed labels are set once: denied", "topology.ebs.csi.aws.com/zone"),
	})
	run(t, restrict(aCluster(), enforce(by), policy(t, `machines: [{name: "m*", labels: {example.com/pool: b}}]`)), []row{
		named("to the machine table's value: allowed", change("example.com/pool")),
		denied("other than the machine table's: denied", "example.com/rack"),
	})
}

// TestReportedSystem checks that a kubelet may restore labels that another client has changed.
func TestReportedSystem(t *testing.T) {
	const by = "NR-LABEL-4"
	reports := func(os, arch string, edits ...func(*corev1.Node)) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.NodeInfo.OperatingSystem, n.Status.NodeInfo.Architecture = os, arch
			for _, edit := range edits {
				edit(n)
			}
		}
	}
	linux := reports("linux", "amd64")
	const other = notAllowed + "change the operating system or the architecture that its Node reports [NR-LABEL-4]"
	const says = notAllowed + "change or remove labels that its Node has: kubernetes.io/arch [NR-LABEL-4]"
	wrong := reports("linux", "amd64", label(corev1.LabelArchStable, "arm64"), label("beta.kubernetes.io/os", "dummy"))
	run(t, restrict(aCluster(), enforce(by)), []row{
		{name: "first report: allowed", write: changing("status", unchanged, linux)},
		{name: "the same report: allowed", write: changing("status", linux, linux)},
		{name: "other architecture: denied", write: changing("status", linux, reports("linux", "arm64")), by: by,
			says: other},
		{name: "other operating system: denied", write: changing("status", linux, reports("windows", "amd64")), by: by,
			says: other},
		{name: "no report any more: denied", write: changing("status", linux, unchanged), by: by, says: other},
		{name: "set back to the report: allowed",
			write: changing("status", wrong, reports("linux", "amd64", label("beta.kubernetes.io/os", "linux")))},
		{name: "set to something else than the report: denied",
			write: changing("status", linux, reports("linux", "amd64", label(corev1.LabelArchStable, "arm64"))), by: by,
			says: says},
		{name: "set to a report that changes with it: denied",
			write: changing("status", linux, reports("linux", "arm64", label(corev1.LabelArchStable, "arm64"))), by: by,
			says: other},
		{
			name: "changed together with the first report: denied",
			write: changing("status", label(corev1.LabelArchStable, "amd64"),
				reports("linux", "arm64", label(corev1.LabelArchStable, "arm64"))),
			by:   by,
			says: says,
		},
		{name: "removed: denied",
			write: changing("status", linux, reports("linux", "amd64", label(corev1.LabelArchStable, "-"))), by: by, says: says},
	})
}
