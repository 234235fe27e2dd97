// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

const (
	// mostSeen bounds the taints and the addresses that are kept of a Node: its
	// node fills in both when it registers.
	mostSeen = 256
	// mostGone bounds the Nodes that are kept after they are gone.
	mostGone = 10_000
)

// node is what is kept of a Node. Only judge and crowd write to it.
type node struct {
	uid     types.UID
	version string
	taints  []corev1.Taint
	// initial are the taints that the Node had when this process first saw it. If it
	// was judged, they are those that it has come with.
	initial []corev1.Taint
	judged  bool
	// dropped is how many sticky taints it has that found no place in its record, and
	// told is true once that was logged of the name.
	dropped int
	told    bool
	// addresses are what its status has; last and port are what the status of a Node of
	// that name had last, if there has been one.
	addresses, last []corev1.NodeAddress
	port            int32
	// hostname is the last value of its label kubernetes.io/hostname.
	hostname   string
	providerID string
	gone       bool
}

// nodes are the Nodes as they were last seen.
type nodes struct {
	byName map[string]*node
	// owners are the names of those that have an address and are not gone.
	owners map[string][]string
	// providers are the same by providerID.
	providers map[string][]string
	// graves has the names of Nodes that went, in that order. One that has come back
	// since is still in it.
	graves []string
}

func newNodes() *nodes {
	return &nodes{byName: map[string]*node{}, owners: map[string][]string{}, providers: map[string][]string{}}
}

// slim leaves of a Node what is kept of it.
func slim(object any) (any, error) {
	full, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	thin := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: full.Name, UID: full.UID,
		ResourceVersion: full.ResourceVersion}}
	if hostname := full.Labels[corev1.LabelHostname]; hostname != "" {
		thin.Labels = map[string]string{corev1.LabelHostname: strings.Clone(hostname)}
	}
	thin.Spec.Taints = slices.Clone(full.Spec.Taints)
	thin.Spec.ProviderID = strings.Clone(full.Spec.ProviderID)
	thin.Status.Addresses = slices.Clone(full.Status.Addresses)
	thin.Status.DaemonEndpoints = full.Status.DaemonEndpoints
	return thin, nil
}

// set takes a Node. Of more taints than are kept, those come first that matters says
// matter: who makes a Node has it say anything.
func (n *nodes) set(object *corev1.Node, matters func(corev1.Taint) bool) *node {
	seen := &node{
		uid: object.UID, version: object.ResourceVersion,
		port: object.Status.DaemonEndpoints.KubeletEndpoint.Port, hostname: object.Labels[corev1.LabelHostname],
	}
	for _, taint := range mostOf(object.Spec.Taints, matters) {
		seen.taints = append(seen.taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
	}
	seen.addresses = slices.Clone(object.Status.Addresses[:min(len(object.Status.Addresses), mostSeen)])
	seen.providerID = object.Spec.ProviderID
	seen.follow(n.byName[object.Name])
	n.disown(object.Name)
	n.byName[object.Name] = seen
	n.provide(object.Name, seen.providerID)
	for _, address := range seen.addresses {
		key := canonical(address.Address)
		if names := n.owners[key]; !slices.Contains(names, object.Name) {
			n.owners[key] = append(names, object.Name)
		}
	}
	return seen
}

// follow takes over what was known of the name. That a Node is made anew without a
// status, or loses it, says nothing about where its machine is.
func (n *node) follow(before *node) {
	n.initial, n.last = n.taints, n.addresses
	if before == nil {
		return
	}
	n.told = before.told
	if before.uid == n.uid {
		n.initial, n.judged = before.initial, before.judged
	}
	if len(n.last) == 0 {
		n.last = before.last
	}
	if n.port == 0 {
		n.port = before.port
	}
	if n.hostname == "" {
		n.hostname = before.hostname
	}
}

// judge is called when it is known what was remembered before this process saw the
// Node. If that is of the same Node, what is sticky and not in it was put on while
// nobody watched, which nodes cannot do. That does not hold for what the record had no
// place for, and nobody has looked at what was not sticky.
func (n *node) judge(r record, sticky *configuration.Keys) {
	if !n.judged && r.uid == n.uid && !r.more {
		n.initial = slices.DeleteFunc(slices.Clone(n.initial), func(taint corev1.Taint) bool { return sticky.Has(taint.Key) })
	}
	n.judged = true
}

// crowd notes which sticky taints of the Node have no place in its record. It logs
// the first time of a name, as a node may come again and again.
func (n *node) crowd(logger klog.Logger, name string, r record, sticky *configuration.Keys) {
	dropped := r.lacks(n, sticky)
	n.dropped = len(dropped)
	if n.dropped == 0 || n.told {
		return
	}
	n.told = true
	logger.Error(nil, "There is no place to remember more sticky taints of a node; a Node that comes after it need not "+
		"have them",
		"node", name, "dropped", n.dropped, "first", dropped[0].ToString(), "limit", mostTaints, "limitOfItsOwn", mostInitial)
}

func mostOf(taints []corev1.Taint, matters func(corev1.Taint) bool) []corev1.Taint {
	if len(taints) <= mostSeen {
		return taints
	}
	var first, others []corev1.Taint
	for _, taint := range taints {
		if matters(taint) {
			first = append(first, taint)
		} else {
			others = append(others, taint)
		}
	}
	return append(first, others...)[:mostSeen]
}

// remove keeps what was seen of a Node that is gone now.
func (n *nodes) remove(name string) {
	before := n.byName[name]
	if before == nil || before.gone {
		return
	}
	n.disown(name)
	after := *before
	after.gone = true
	n.byName[name] = &after
	n.graves = append(n.graves, name)
	for len(n.graves) > mostGone {
		if oldest := n.byName[n.graves[0]]; oldest != nil && oldest.gone && !slices.Contains(n.graves[1:], n.graves[0]) {
			delete(n.byName, n.graves[0])
		}
		n.graves = n.graves[1:]
	}
}

func (n *nodes) disown(name string) {
	before := n.byName[name]
	if before == nil {
		return
	}
	n.unprovide(name, before.providerID)
	for _, address := range before.addresses {
		key := canonical(address.Address)
		rest := slices.DeleteFunc(slices.Clone(n.owners[key]), func(owner string) bool { return owner == name })
		if len(rest) == 0 {
			delete(n.owners, key)
		} else {
			n.owners[key] = rest
		}
	}
}

// owner returns one that has the address, the first by name.
func (n *nodes) owner(address, but string) string {
	first := ""
	for _, name := range n.owners[canonical(address)] {
		if name != but && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// canonical spells equal addresses in one way.
func canonical(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.Unmap().WithZone("").String()
	}
	return strings.ToLower(strings.TrimSuffix(address, "."))
}
