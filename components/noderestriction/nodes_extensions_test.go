// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const notAllowed = `nodes "me" is forbidden: node "me" is not allowed to `

// making returns the creation of the Node me.
func making(edit func(*corev1.Node)) admission.Attributes {
	return write("me", admission.Create, "nodes", "", aNode("me", edit), nil)
}

// changing returns an update of the Node me, or of its status, from one edit to another.
func changing(subresource string, old, now func(*corev1.Node)) admission.Attributes {
	return write("me", admission.Update, "nodes", subresource, aNode("me", now), aNode("me", old))
}

func unchanged(*corev1.Node) {}

func TestCordon(t *testing.T) {
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	run(t, restrict(aCluster(), enforce("NR-CORDON-1")), []row{
		{name: "cordon own Node: allowed", write: changing("", unchanged, cordoned)},
		{name: "own Node stays cordoned: allowed", write: changing("", cordoned, cordoned)},
		{name: "uncordon own Node: denied", write: changing("", cordoned, unchanged), by: "NR-CORDON-1",
			says: notAllowed + "make itself schedulable [NR-CORDON-1]"},
		{name: "create cordoned Node: allowed", write: making(cordoned)},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off, uncordon own Node: allowed",
		write: changing("", cordoned, unchanged)}})
}

func TestNodeSpec(t *testing.T) {
	cidr := func(cidr string, cidrs ...string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = cidr, cidrs }
	}
	provider := func(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }
	const (
		podCIDR    = notAllowed + "modify podCIDRs [NR-NODESPEC-1]"
		providerID = notAllowed + "modify providerID [NR-NODESPEC-2]"
	)
	run(t, restrict(aCluster(), enforce("NR-NODESPEC-1", "NR-NODESPEC-2")), []row{
		{name: "create Node without providerID and podCIDR: allowed", write: making(unchanged)},
		{name: "create Node with a providerID: allowed", write: making(provider("kind://a"))},
		{name: "create Node with a podCIDR: denied", write: making(cidr("10.1.0.0/24")), by: "NR-NODESPEC-1", says: podCIDR},
		{name: "create Node with podCIDRs: denied",
			write: making(cidr("", "10.1.0.0/24")), by: "NR-NODESPEC-1", says: podCIDR},
		{name: "same podCIDRs: allowed", write: changing("", cidr("a", "a", "b"), cidr("a", "a", "b"))},
		{name: "first podCIDR: denied", write: changing("", unchanged, cidr("a", "a")), by: "NR-NODESPEC-1", says: podCIDR},
		{name: "additional podCIDR: denied", write: changing("", cidr("a", "a"), cidr("a", "a", "b")), by: "NR-NODESPEC-1",
			says: podCIDR},
		{name: "remove podCIDR: denied", write: changing("", cidr("a", "a"), unchanged), by: "NR-NODESPEC-1", says: podCIDR},
		{name: "same providerID: allowed", write: changing("", provider("a"), provider("a"))},
		{name: "first providerID: denied",
			write: changing("", unchanged, provider("a")), by: "NR-NODESPEC-2", says: providerID},
		{name: "other providerID: denied", write: changing("", provider("a"), provider("b")), by: "NR-NODESPEC-2",
			says: providerID},
		{name: "remove providerID: denied", write: changing("", provider("a"), unchanged), by: "NR-NODESPEC-2",
			says: providerID},
	})
	run(t, restrict(aCluster()), []row{
		{name: "rule off, podCIDR: allowed", write: changing("", unchanged, cidr("a", "a"))},
		{name: "rule off, providerID: allowed", write: changing("", provider("a"), provider("b"))},
	})
}

func noted(all ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Annotations = map[string]string{}
		for i := 0; i < len(all); i += 2 {
			n.Annotations[all[i]] = all[i+1]
		}
	}
}

func TestNodeAnnotations(t *testing.T) {
	const (
		set    = notAllowed + "set the following annotations: "
		modify = notAllowed + "modify annotations: "
		by     = "NR-ANNOTATION-1"
	)
	all := func(n *corev1.Node) {
		noted("volumes.kubernetes.io/controller-managed-attach-detach", "true", "alpha.kubernetes.io/provided-node-ip",
			"192.0.2.1",
			"csi.volume.kubernetes.io/nodeid", "{}", "kubeadm.alpha.kubernetes.io/cri-socket",
			"unix:///run/containerd/containerd.sock")(n)
	}
	ttl, other, many := noted("node.alpha.kubernetes.io/ttl", "0"), noted("example.com/a", "1", "example.com/b", "1"),
		func(n *corev1.Node) { n.Annotations = tenThousand() }
	rows := []row{
		{name: "kubelet's annotations at creation: allowed", write: making(all)},
		{name: "kubelet's annotations added: allowed", write: changing("status", unchanged, all)},
		{name: "kubelet's annotations removed: allowed", write: changing("status", all, unchanged)},
		{name: "controller manager's annotation at creation: denied", write: making(ttl), by: by,
			says: set + "node.alpha.kubernetes.io/ttl [NR-ANNOTATION-1]"},
		{name: "other annotations at creation: denied", write: making(other), by: by,
			says: set + "example.com/a, example.com/b [NR-ANNOTATION-1]"},
		{name: "other annotations unchanged: allowed", write: changing("status", other, other)},
		{name: "other annotations added: denied", write: changing("", unchanged, other), by: by,
			says: modify + "example.com/a, example.com/b [NR-ANNOTATION-1]"},
		{name: "other annotations added through the status: denied", write: changing("status", unchanged, other), by: by,
			says: modify + "example.com/a, example.com/b [NR-ANNOTATION-1]"},
		{name: "other annotations removed: denied", write: changing("status", other, unchanged), by: by,
			says: modify + "example.com/a, example.com/b [NR-ANNOTATION-1]"},
		{name: "other annotation changed: denied",
			write: changing("status", other, noted("example.com/a", "1", "example.com/b", "2")), by: by,
			says: modify + "example.com/b [NR-ANNOTATION-1]"},
		{name: "other annotation with an empty value: denied",
			write: changing("status", unchanged, noted("example.com/a", "")), by: by,
			says: modify + "example.com/a [NR-ANNOTATION-1]"},
		{
			name: "10,000 annotations: denied, message shortened", write: changing("status", unchanged, many), by: by,
			says: modify + "key-0000, key-0001, key-0002, key-0003, key-0004, key-0005, key-0006, key-0007, key-0008, " +
				"key-0009 and 9990 more [NR-ANNOTATION-1]",
		},
	}
	run(t, restrict(aCluster(), enforce(by)), rows)
	allowing := func(keys ...string) func(*Config) {
		policy := &configuration.Configuration{Annotations: configuration.NewKeys(keys...)}
		return func(c *Config) { c.Configuration = func() *configuration.Configuration { return policy } }
	}
	run(t, restrict(aCluster(), enforce(by), allowing("example.com/*")), []row{
		{name: "annotation on the list: allowed", write: changing("status", unchanged, other)},
		{name: "kubelet's annotations with a list: allowed", write: making(all)},
		{name: "annotation not on the list: denied", write: changing("status", unchanged, ttl), by: by,
			says: modify + "node.alpha.kubernetes.io/ttl [NR-ANNOTATION-1]"},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off, other annotations: allowed",
		write: changing("status", unchanged, other)}})
	v := restrict(aCluster(), enforce(by)).Review(t.Context(), changing("status", unchanged, other))
	if v.Annotations["refused-annotation-keys"] != "example.com/a, example.com/b" {
		t.Errorf("the audit event says %v", v.Annotations)
	}
}

func TestNodeInAudit(t *testing.T) {
	c := networked()
	c.reported = map[string]Reported{"me": {Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP,
		Address: "192.0.2.1"}}, KubeletPort: 10250}}
	all := []rules.ID{"NR-ANNOTATION-1", "NR-CORDON-1", "NR-NODESPEC-1", "NR-NODESPEC-2", "NR-ADDRESS-1", "NR-ADDRESS-3",
		"NR-ADDRESS-2", "NR-ADDRESS-4"}
	v := restrict(c, inMode(rules.Audit, all...)).Review(t.Context(), changing("",
		func(n *corev1.Node) { n.Spec.Unschedulable, n.Spec.ProviderID = true, "a" },
		func(n *corev1.Node) {
			noted("a", "b")(n)
			n.Spec.PodCIDR = "10.1.0.0/24"
			reporting(1, "InternalIP", "127.0.0.1", "InternalIP", "192.0.2.2")(n)
		}))
	if !v.Allowed() || !slices.Equal(v.Audited(), all) {
		t.Errorf("%+v", v)
	}
}

func TestNodeExtensionsWithoutObjects(t *testing.T) {
	r := restrict(aCluster())
	for _, old := range []*corev1.Node{nil, aNode("me")} {
		q := &request{Attributes: making(unchanged), node: "me"}
		if r.reviewNodeExtensions(t.Context(), q, old, nil) == nil {
			t.Error("admitted nothing")
		}
	}
}

// TestNodeStatusWithoutNewAddressesNeedsNoLookup uses a cluster whose lookups fail. Every kubelet
// sends such a status all the time.
func TestNodeStatusWithoutNewAddressesNeedsNoLookup(t *testing.T) {
	failing := aCluster()
	failing.err = errors.New("timeout")
	r := restrict(failing, func(c *Config) { c.Modes = Modes(rules.Enforce) })
	had := func(n *corev1.Node) {
		reporting(10250, "InternalIP", "192.0.2.1", "Hostname", "me")(n)
		n.Annotations = map[string]string{}
		for i := range 20 {
			n.Annotations[fmt.Sprint("example.com/", i)] = "x"
		}
		n.Spec.PodCIDR, n.Spec.PodCIDRs, n.Spec.ProviderID, n.Spec.Unschedulable = "10.1.0.0/24", []string{"10.1.0.0/24"},
			"kind://a", true
	}
	old, node := aNode("me", had), aNode("me", had)
	q := &request{Attributes: changing("status", had, had), node: "me"}
	if refused := r.reviewNodeExtensions(t.Context(), q, old, node); refused != nil {
		t.Error(refused.Reason())
	}
}

func TestProviderIDOthers(t *testing.T) {
	const by = "NR-NODESPEC-3"
	const says = notAllowed + `have the providerID of another node [NR-NODESPEC-3]`
	provided := func(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }
	c := aCluster()
	c.nodes["other"] = aNode("other", provided("cloud://other"))
	c.nodes["me"] = aNode("me", provided("cloud://me"))
	run(t, restrict(c, enforce(by)), []row{
		{name: "no providerID: admitted", write: making(unchanged)},
		{name: "its own providerID: admitted", write: making(provided("cloud://me"))},
		{name: "providerID of another Node at creation: denied", write: making(provided("cloud://other")), by: by,
			says: says},
		{name: "providerID of another Node later: denied", write: changing("", unchanged, provided("cloud://other")), by: by,
			says: says},
		{name: "providerID of another Node that it has already: admitted",
			write: changing("", provided("cloud://other"), provided("cloud://other"))},
		{name: "providerID that is too long: denied", write: making(provided(strings.Repeat("x", 1025))), by: by,
			says: notAllowed + "have a providerID of more than 1024 bytes [NR-NODESPEC-3]"},
	})
	run(t, restrict(c), []row{{name: "rule off, providerID of another Node: admitted",
		write: making(provided("cloud://other"))}})
	auditedOnly(t, restrict(c, inMode(rules.Audit, by)), making(provided("cloud://other")), by)
	failing := aCluster()
	failing.err = errors.New("timeout")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "owner of the providerID is not known: denied", write: making(provided("cloud://me")), by: by, code: 500,
			says: "timeout [NR-NODESPEC-3]"},
	})
}
