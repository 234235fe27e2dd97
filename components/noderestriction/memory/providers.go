// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ProviderIDOwner is that of [noderestriction.Cluster]. Of several owners it is the first by
// name. Spellings of the same ID count as one.
func (m *Memory) ProviderIDOwner(_ context.Context, id, but string) (string, error) {
	if why := m.nodesUnready(); why != "" {
		return "", fmt.Errorf("the memory of nodes %s", why)
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
