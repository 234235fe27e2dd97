// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

const (
	// mostSeen limits the taints and the addresses that are kept of a Node. Its node chooses both
	// when it registers.
	mostSeen = 256
	// mostGone limits the number of deleted Nodes that are kept.
	mostGone = 10_000
)

// node has the fields that are kept of a Node. Only judge and crowd write to it.
type node struct {
	uid     types.UID
	version string
	taints  []corev1.Taint
	// initial are the taints that the Node had when this process first saw it. After judge, they
	// are the taints that the Node was registered with.
	initial []corev1.Taint
	judged  bool
	// dropped is the number of sticky taints for which the record has no place. told is true after
	// this was logged for the name.
	dropped int
	told    bool
	// addresses are those in the status. last and port are the last ones that the status of a Node
	// of that name had.
	addresses, last []corev1.NodeAddress
	port            int32
	// lastCreated and portCreated are when the Nodes with these values were created.
	lastCreated, portCreated time.Time
	// hostname is the last value of the label kubernetes.io/hostname.
	hostname   string
	providerID string
	gone       bool
}

// nodes has the Nodes as they were last seen.
type nodes struct {
	byName map[string]*node
	// owners maps an address to the names of the existing Nodes that have it.
	owners map[string][]string
	// providers maps a providerID to the names of the existing Nodes that have it.
	providers map[string][]string
	// graves has the names of deleted Nodes, the oldest first. The name of a Node that was created
	// again stays in it.
	graves []string
}

func newNodes() *nodes {
	return &nodes{byName: map[string]*node{}, owners: map[string][]string{}, providers: map[string][]string{}}
}

// slim returns a copy of a Node with only the fields that are kept.
func slim(object any) (any, error) {
	full, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	thin := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: full.Name, UID: full.UID,
		ResourceVersion: full.ResourceVersion, CreationTimestamp: full.CreationTimestamp}}
	if hostname := full.Labels[corev1.LabelHostname]; hostname != "" {
		thin.Labels = map[string]string{corev1.LabelHostname: strings.Clone(hostname)}
	}
	thin.Spec.Taints = slices.Clone(full.Spec.Taints)
	thin.Spec.ProviderID = strings.Clone(full.Spec.ProviderID)
	thin.Status.Addresses = slices.Clone(full.Status.Addresses)
	thin.Status.DaemonEndpoints = full.Status.DaemonEndpoints
	return thin, nil
}

// set stores a Node. If it has more taints than are kept, those for which matters returns true come
// first. The node chooses the taints when it registers, and must not displace these.
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
	seen.lastCreated, seen.portCreated = object.CreationTimestamp.Time, object.CreationTimestamp.Time
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

// follow copies what is known of the previous Node of that name. A new Node without a status, or a
// Node that loses it, does not mean that the machine has moved.
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
		n.last, n.lastCreated = before.last, before.lastCreated
	}
	if n.port == 0 {
		n.port, n.portCreated = before.port, before.portCreated
	}
	if n.hostname == "" {
		n.hostname = before.hostname
	}
}

// judge is called when the stored record of the Node is known. If the record is of the same Node,
// every sticky taint that it lacks was added while no instance watched. Nodes cannot add taints, so
// judge removes the sticky taints from initial. It does not do so if the record had no place for
// some taints. Taints that were not sticky were never recorded, so they stay in initial.
func (n *node) judge(r record, sticky *configuration.Keys) {
	if !n.judged && r.uid == n.uid && !r.more {
		n.initial = slices.DeleteFunc(slices.Clone(n.initial), func(taint corev1.Taint) bool { return sticky.Has(taint.Key) })
	}
	n.judged = true
}

// recordOverflow counts the sticky taints of the Node that have no place in its record. It logs only once
// per name, because a node can register again and again.
func (n *node) recordOverflow(logger klog.Logger, name string, r record, sticky *configuration.Keys) {
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

// remove marks a Node as deleted and keeps its last state.
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

// owner returns the name of a Node that has the address. If there are several, it returns the first
// in alphabetical order.
func (n *nodes) owner(address, but string) string {
	first := ""
	for _, name := range n.owners[canonical(address)] {
		if name != but && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// canonical returns the same string for all spellings of an address.
func canonical(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.Unmap().WithZone("").String()
	}
	return strings.ToLower(strings.TrimSuffix(address, "."))
}
