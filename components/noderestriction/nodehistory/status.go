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

// errMissing says what to do if the ConfigMap does not exist. node-restriction may write it, but
// not create it, because RBAC cannot limit create to one name.
var errMissing = fmt.Errorf(
	"has no ConfigMap %s/%s to be kept in: run `bulkhead install` on a control-plane host, or apply "+
		"manifests/node-restriction/configmap.yaml", Namespace, Name)

// Unready returns why the Store cannot answer or cannot store records. It returns "" if it can. If
// no taint is sticky, nothing is stored and no ConfigMap is needed.
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

// History implements [noderestriction.Cluster]. It returns an error in these cases:
//
//   - Nodes or the ConfigMap have not been listed yet.
//   - The API server has sent nothing about Nodes or the ConfigMap for too long.
//   - The ConfigMap has not existed since this process began.
//   - The record of the node cannot be parsed.
//
// If the ConfigMap is deleted later, History still returns the known records.
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

// LastReported implements [noderestriction.Cluster]. It does not need the ConfigMap: addresses are
// kept only while this process runs. It returns an error if the API server has sent nothing about
// Nodes for too long.
func (m *Store) LastReported(_ context.Context, name string) (noderestriction.Reported, error) {
	if why := m.nodesUnready(); why != "" {
		return noderestriction.Reported{}, fmt.Errorf("the node history %s", why)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n := m.nodes.byName[name]; n != nil {
		return noderestriction.Reported{Addresses: n.last, KubeletPort: n.port, Hostname: n.hostname,
			Created: n.lastCreated, PortCreated: n.portCreated}, nil
	}
	return noderestriction.Reported{}, nil
}

// AddressOwner implements [noderestriction.Cluster]. If several Nodes have the address, it returns
// the first in alphabetical order. Different spellings of an address are equal. It returns an error
// if the API server has sent nothing about Nodes for too long.
func (m *Store) AddressOwner(_ context.Context, address, but string) (string, error) {
	if why := m.nodesUnready(); why != "" {
		return "", fmt.Errorf("the node history %s", why)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.nodes.owner(address, but), nil
}

// ProviderIDOwner implements [noderestriction.Cluster]. If several Nodes have the providerID, it
// returns the first in alphabetical order. Different spellings of an ID are equal. It returns an
// error if the API server has sent nothing about Nodes for too long.
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

// provide records that a Node has a providerID. The API allows several Nodes with the same one.
func (n *nodes) provide(name, id string) {
	key := providerKey(id)
	if names := n.providers[key]; key != "" && !slices.Contains(names, name) {
		n.providers[key] = append(names, name)
	}
}

// providerKey returns the same key for all spellings of an ID that a cloud controller maps to the
// same machine. It ignores letter case. For an AWS ID it keeps only the instance ID. Source:
// kubernetes/cloud-provider-aws pkg/providers/v1/instances.go MapToAWSInstanceID.
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
