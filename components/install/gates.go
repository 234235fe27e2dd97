// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
)

// setGates tells a component of those feature gates of kube-apiserver that it
// knows: those that change what a node may do. It has to be told the same, or it
// refuses what in-tree would let through.
func setGates(pod *staticpod.Pod, server *apiserver.Manifest, known map[string]*bool) {
	if gates := gatesOf(server, known); gates != "" {
		pod.SetArg("feature-gates", gates)
	}
}

// gatesOf are the known gates as the server reads its flags, in a fixed order.
func gatesOf(server *apiserver.Manifest, known map[string]*bool) string {
	var gates []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if on, said := server.Gate(name); said {
			gates = append(gates, fmt.Sprintf("%s=%t", name, on))
		}
	}
	return strings.Join(gates, ",")
}
