// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"slices"
)

// ProviderIDOwner is that of [noderestriction.Cluster]. Of several owners it is the first by
// name.
func (m *Memory) ProviderIDOwner(_ context.Context, id, but string) (string, error) {
	if why := m.nodesUnready(); why != "" {
		return "", fmt.Errorf("the memory of nodes %s", why)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	first := ""
	for _, name := range m.nodes.providers[id] {
		if name != but && (first == "" || name < first) {
			first = name
		}
	}
	return first, nil
}

// provide notes which Node has a providerID. Several can: the API does not prevent it.
func (n *nodes) provide(name, id string) {
	if names := n.providers[id]; id != "" && !slices.Contains(names, name) {
		n.providers[id] = append(names, name)
	}
}

func (n *nodes) unprovide(name, id string) {
	rest := slices.DeleteFunc(slices.Clone(n.providers[id]), func(owner string) bool { return owner == name })
	if len(rest) == 0 {
		delete(n.providers, id)
	} else {
		n.providers[id] = rest
	}
}
