// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

func TestMirrorPodLabels(t *testing.T) {
	run(t, restrict(listing(" component ,tier,, \t,unrestricted.example.com/*"), gated()), []row{
		{name: "no labels: allowed", write: mirror(nil)},
		{name: "listed keys: allowed", write: mirror(keys("component", "tier"))},
		{name: "key that is not listed: denied", write: mirror(keys("component", "app")), by: "NR-MIRROR-2",
			says: notListed + "app [NR-MIRROR-2]"},
		{name: "empty key: denied", write: mirror(keys("")), by: "NR-MIRROR-2",
			says: notListed + " [NR-MIRROR-2]"},
		{name: "listed key in another case: denied",
			write: mirror(keys("Tier")), by: "NR-MIRROR-2", says: notListed + "Tier [NR-MIRROR-2]"},
		{name: "prefix of a listed key: denied", write: mirror(keys("comp")), by: "NR-MIRROR-2",
			says: notListed + "comp [NR-MIRROR-2]"},
		{name: `"*" in the list is not a pattern: denied`,
			write: mirror(keys("unrestricted.example.com/a")), by: "NR-MIRROR-2",
			says: notListed + "unrestricted.example.com/a [NR-MIRROR-2]"},
		{name: "several keys that are not listed: denied, sorted", write: mirror(keys("tier", "b", "a")), by: "NR-MIRROR-2",
			says: notListed + "a, b [NR-MIRROR-2]"},
		{
			name: "10,000 keys that are not listed: denied, message shortened", write: mirror(tenThousand()), by: "NR-MIRROR-2",
			says: notListed + "key-0000, key-0001, key-0002, key-0003, key-0004, key-0005, key-0006, key-0007, key-0008, " +
				"key-0009 and 9990 more [NR-MIRROR-2]",
		},
	})
	run(t, restrict(aCluster(), gated()), []row{
		{name: "namespace without the annotation: denied", write: mirror(keys("component")), by: "NR-MIRROR-2",
			says: notListed + "component [NR-MIRROR-2]"},
		{name: "namespace without the annotation, no labels: allowed", write: mirror(nil)},
	})
	run(t, restrict(listing("k8s-app,unrestricted.node.kubernetes.io/k8s-app"), gated()), []row{
		{name: "listed k8s-app: denied", write: mirror(keys("k8s-app")), by: "NR-MIRROR-3",
			says: aboutMirror + "must not create mirror pods with the following labels: k8s-app [NR-MIRROR-3]"},
		{name: "listed key that ends in k8s-app: allowed", write: mirror(keys("unrestricted.node.kubernetes.io/k8s-app"))},
	})
	run(t, restrict(listing("k8s-app"), gated(func(p *configuration.MirrorPods) { p.DeniedLabelKeys = nil })), []row{
		{name: "no denied keys configured, listed k8s-app: allowed", write: mirror(keys("k8s-app"))},
	})
}

func tenThousand() map[string]string {
	labels := map[string]string{}
	for i := range 10000 {
		labels[fmt.Sprintf("key-%04d", i)] = "x"
	}
	return labels
}

func TestMirrorPodUnrestrictedPrefix(t *testing.T) {
	free := keys("unrestricted.node.kubernetes.io/a")
	run(t, restrict(aCluster(), gated()), []row{
		{name: "unrestricted prefix, option off: denied", write: mirror(free), by: "NR-MIRROR-2",
			says: notListed + "unrestricted.node.kubernetes.io/a [NR-MIRROR-2]"},
	})
	run(t, restrict(aCluster(), gated(unrestricted)), []row{
		{name: "unrestricted prefix, option on: allowed", write: mirror(free)},
		{name: "longer prefix: denied", write: mirror(keys("unrestricted.node.kubernetes.io.evil/a")), by: "NR-MIRROR-2",
			says: notListed + "unrestricted.node.kubernetes.io.evil/a [NR-MIRROR-2]"},
	})
	run(t, restrict(aCluster(),
		gated(unrestricted, func(p *configuration.MirrorPods) {
			p.DeniedLabelKeys = configuration.NewKeys(slices.Collect(maps.Keys(free))...)
		})),
		[]row{
			{name: "denied key with the unrestricted prefix: denied", write: mirror(free), by: "NR-MIRROR-3",
				says: aboutMirror + "must not create mirror pods with the following labels: unrestricted.node.kubernetes.io/a " +
					"[NR-MIRROR-3]"},
		})
}

// TestMirrorPodKeysOfTheCluster: lists for the whole cluster, with prefixes.
func TestMirrorPodKeysOfTheCluster(t *testing.T) {
	lists := func(allowed, denied *configuration.Keys) func(*configuration.MirrorPods) {
		return func(p *configuration.MirrorPods) { p.AllowedLabelKeys, p.DeniedLabelKeys = allowed, denied }
	}
	of := configuration.NewKeys
	denied := aboutMirror + "must not create mirror pods with the following labels: "
	run(t, restrict(aCluster(), gated(lists(of("component", "example.com/*"), of("example.com/app*")))), []row{
		{name: "key of the list: allowed", write: mirror(keys("component"))},
		{name: "prefix of the list: allowed", write: mirror(keys("example.com/rack"))},
		{name: "other key: denied", write: mirror(keys("tier")), by: "NR-MIRROR-2", says: notListed + "tier [NR-MIRROR-2]"},
		{name: "denied prefix: denied", write: mirror(keys("example.com/app-name", "example.com/app")), by: "NR-MIRROR-3",
			says: denied + "example.com/app, example.com/app-name [NR-MIRROR-3]"},
	})
	// All labels except those of one domain, as KEP-1314 describes it under Blacklist labels.
	all := restrict(aCluster(), gated(lists(of("*"), of("restricted.node.kubernetes.io/*"))))
	run(t, all, []row{
		{name: "all but one domain, any key: allowed", write: mirror(keys("k8s-app", "a", "a.example.com/a"))},
		{name: "all but one domain, key of the domain: denied", write: mirror(keys("restricted.node.kubernetes.io/a")),
			by: "NR-MIRROR-3", says: denied + "restricted.node.kubernetes.io/a [NR-MIRROR-3]"},
	})
	// The prefix that the KEP proposes as the default of the option.
	run(t, restrict(aCluster(), gated(lists(of("unrestricted.node.kubernetes.io/*"), nil))), []row{
		{name: "unrestricted prefix: allowed", write: mirror(keys("unrestricted.node.kubernetes.io/a"))},
		{name: "key outside of the prefix: denied", write: mirror(keys("a")), by: "NR-MIRROR-2",
			says: notListed + "a [NR-MIRROR-2]"},
	})
}

func TestMirrorPodTopology(t *testing.T) {
	zoned := aCluster()
	zoned.nodes["me"] = aNode("me", func(n *corev1.Node) { n.Labels["topology.kubernetes.io/zone"] = "a" })
	own, others := map[string]string{"topology.kubernetes.io/zone": "a"},
		map[string]string{"topology.kubernetes.io/zone": "b"}
	run(t, restrict(zoned, gated()), []row{
		{name: "own node's zone: allowed", write: mirror(own)},
		{name: "other zone: denied", write: mirror(others), by: "NR-MIRROR-2",
			says: notListed + "topology.kubernetes.io/zone [NR-MIRROR-2]"},
		{name: "region, node without a region: denied", write: mirror(map[string]string{"topology.kubernetes.io/region": ""}),
			by: "NR-MIRROR-2", says: notListed + "topology.kubernetes.io/region [NR-MIRROR-2]"},
		{name: "other label with the node's value: denied", write: mirror(map[string]string{corev1.LabelHostname: "me"}),
			by: "NR-MIRROR-2", says: notListed + "kubernetes.io/hostname [NR-MIRROR-2]"},
	})
	run(t, restrict(zoned, gated(func(p *configuration.MirrorPods) {
		p.DeniedLabelKeys = configuration.NewKeys(slices.Collect(maps.Keys(own))...)
	})), []row{
		{name: "topology label that is denied: denied", write: mirror(own), by: "NR-MIRROR-3",
			says: aboutMirror + "must not create mirror pods with the following labels: topology.kubernetes.io/zone " +
				"[NR-MIRROR-3]"},
	})
	run(t, restrict(listing("topology.kubernetes.io/zone"), gated()), []row{
		{name: "listed topology label with any value: allowed", write: mirror(others)},
	})
}
