// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"slices"
)

// Missing returns the nodes that do not have the wiring, each with the reason. running are the nodes
// on which node-authorizer runs. An entry alone does not count: the host may have been reset since.
func Missing(nodes, running []string, entries map[string]string, wiring string) []string {
	known, unknown := Parse(entries)
	var missing []string
	for _, node := range nodes {
		h, ok := known[node]
		switch {
		case unknown[node] != nil:
			missing = append(missing, node+" (its entry in ConfigMap "+ConfigMapName+" cannot be read)")
		case !ok:
			missing = append(missing, node)
		case h.Wiring != wiring:
			missing = append(missing, fmt.Sprintf("%s (it has other settings: profile %s, mode %s, verifyKubelets %t)",
				node, h.Profile, h.Mode, h.VerifyKubelets))
		case !slices.Contains(running, node):
			missing = append(missing, node+" (node-authorizer does not run there)")
		}
	}
	return missing
}
