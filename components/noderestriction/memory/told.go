// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// errMissing says what to do about a ConfigMap that nobody has made. This component
// may write it, but not create it: RBAC cannot hold that right to one name.
var errMissing = fmt.Errorf(
	"has no ConfigMap %s/%s to be kept in: run `bulkhead install` on a control-plane host, or apply "+
		"manifests/node-restriction/configmap.yaml", Namespace, Name)

// Unready says why something is not told now, or not kept; it is empty if there is no
// reason. Where no taint is sticky nothing has to be kept, and no ConfigMap is needed.
func (m *Memory) Unready() string {
	why := m.nodesUnready()
	if why == "" && m.anySticky() {
		why = m.recordsUnready()
	}
	if why == "" {
		return ""
	}
	return "the memory of nodes " + why
}

func (m *Memory) anySticky() bool {
	c := m.configuration()
	return c != nil && c.StickyTaints != nil
}

func (m *Memory) nodesUnready() string { return m.watched[0].unready() }

func (m *Memory) recordsUnready() string {
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
func (m *Memory) Remembered(_ context.Context, name string) (noderestriction.Memory, error) {
	for _, w := range m.watched {
		if why := w.unready(); why != "" {
			return noderestriction.Memory{}, fmt.Errorf("the memory of nodes %s", why)
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.isRead {
		return noderestriction.Memory{}, fmt.Errorf("the memory of nodes %w", errMissing)
	}
	r := m.records[name]
	if r.unreadable {
		return noderestriction.Memory{},
			fmt.Errorf("what is stored of node %q in ConfigMap %s/%s cannot be read: run `bulkhead taints clear %s`", name,
				Namespace, Name, name)
	}
	told := noderestriction.Memory{UID: r.uid, Taints: r.taints, Absent: r.absent, Brought: r.brought}
	if len(r.absent) > 0 {
		told.Taints = slices.Concat(r.taints, r.absent)
	}
	return told, nil
}

// LastReported is that of [noderestriction.Cluster]. It needs no ConfigMap: addresses
// are remembered as long as this process runs. An error means that nothing was heard of
// Nodes for too long.
func (m *Memory) LastReported(_ context.Context, name string) (noderestriction.Reported, error) {
	if why := m.nodesUnready(); why != "" {
		return noderestriction.Reported{}, fmt.Errorf("the memory of nodes %s", why)
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
func (m *Memory) AddressOwner(_ context.Context, address, but string) (string, error) {
	if why := m.nodesUnready(); why != "" {
		return "", fmt.Errorf("the memory of nodes %s", why)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.nodes.owner(address, but), nil
}
