// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// policy is a configuration, given without its first two lines.
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

// TestReportedSystem has a kubelet set back what somebody else has changed.
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
