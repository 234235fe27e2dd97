// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// errMissing says what to do about a ConfigMap that nobody has made. This component
// may write it, but not create it: RBAC cannot hold that right to one name.
var errMissing = fmt.Errorf(
	"has no ConfigMap %s/%s to be kept in: run `bulkhead install` on a control-plane host, or apply "+
		"manifests/node-restriction/configmap.yaml", Namespace, Name)

// Unready says why something is not told now, or not kept; it is empty if there is no
// reason. Where no taint is sticky nothing has to be kept, and no ConfigMap is needed.
func (m *Store) Unready() string {
	why := m.nodesUnready()
	if why == "" && m.anySticky() {
		why = m.recordsUnready()
	}
	if why == "" {
		return ""
	}
	return "the node history " + why
}

func (m *Store) anySticky() bool {
	c := m.configuration()
	return c != nil && c.StickyTaints != nil
}

func (m *Store) nodesUnready() string { return m.watched[0].unready() }

func (m *Store) recordsUnready() string {
	if why := m.watched[1].unready(); why != "" {
		return why
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.missing {
		return errMissing.Error()
	}
	return ""
}

// Remembered is that of [noderestriction.Cluster]. An error means that it is not
// known now: nothing was heard of Nodes or of the ConfigMap for too long, or there has
// been no ConfigMap since this process began. One that is deleted later takes nothing
// away.
func (m *Store) History(_ context.Context, name string) (noderestriction.NodeHistory, error) {
	for _, w := range m.watched {
		if why := w.unready(); why != "" {
			return noderestriction.NodeHistory{}, fmt.Errorf("the node history %s", why)
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.isRead {
		return noderestriction.NodeHistory{}, fmt.Errorf("the node history %w", errMissing)
	}
	r := m.records[name]
	if r.unreadable {
		return noderestriction.NodeHistory{},
			fmt.Errorf("what is stored of node %q in ConfigMap %s/%s cannot be read: run `bulkhead taints clear %s`", name,
				Namespace, Name, name)
	}
	told := noderestriction.NodeHistory{UID: r.uid, Taints: r.taints, Absent: r.absent, InitialTaints: r.initial}
	if len(r.absent) > 0 {
		told.Taints = slices.Concat(r.taints, r.absent)
	}
	return told, nil
}

// LastReported is that of [noderestriction.Cluster]. It needs no ConfigMap: addresses
// are remembered as long as this process runs. An error means that nothing was heard of
// Nodes for too long.
func (m *Store) LastReported(_ context.Context, name string) (noderestriction.Reported, error) {
	if why := m.nodesUnready(); why != "" {
		return noderestriction.Reported{}, fmt.Errorf("the node history %s", why)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n := m.nodes.byName[name]; n != nil {
		return noderestriction.Reported{Addresses: n.last, KubeletPort: n.port, Hostname: n.hostname}, nil
	}
	return noderestriction.Reported{}, nil
}

// AddressOwner is that of [noderestriction.Cluster]. Of several owners it is the
// first by name. Addresses that differ only in how they are spelled are equal.
func (m *Store) AddressOwner(_ context.Context, address, but string) (string, error) {
	if why := m.nodesUnready(); why != "" {
		return "", fmt.Errorf("the node history %s", why)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.nodes.owner(address, but), nil
}

// ProviderIDOwner is that of [noderestriction.Cluster]. Of several owners it is the first by
// name. Spellings of the same ID count as one.
func (m *Store) ProviderIDOwner(_ context.Context, id, but string) (string, error) {
	if why := m.nodesUnready(); why != "" {
		return "", fmt.Errorf("the node history %s", why)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	first := ""
	for _, name := range m.nodes.providers[providerKey(id)] {
		if name != but && (first == "" || name < first) {
			first = name
		}
	}
	return first, nil
}

// provide notes which Node has a providerID. Several can: the API does not prevent it.
func (n *nodes) provide(name, id string) {
	key := providerKey(id)
	if names := n.providers[key]; key != "" && !slices.Contains(names, name) {
		n.providers[key] = append(names, name)
	}
}

// providerKey is the same for the spellings of an ID that a cloud controller takes for one
// machine. Letter case does not count, and of an ID of AWS only the instance.
// Source: kubernetes/cloud-provider-aws pkg/providers/v1/instances.go MapToAWSInstanceID.
func providerKey(id string) string {
	key := strings.TrimRight(strings.ToLower(id), "/")
	if strings.HasPrefix(key, "aws:") {
		key = key[strings.LastIndex(key, "/")+1:]
	}
	return key
}

func (n *nodes) unprovide(name, id string) {
	key := providerKey(id)
	rest := slices.DeleteFunc(slices.Clone(n.providers[key]), func(owner string) bool { return owner == name })
	if len(rest) == 0 {
		delete(n.providers, key)
	} else {
		n.providers[key] = rest
	}
}
