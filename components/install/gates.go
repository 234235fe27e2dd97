// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
)

// gatesOf are the feature gates of kube-apiserver that change what a node may do,
// as its flag sets them and in a fixed order. The node authorizer has to be told
// the same, or it denies what in-tree Node would allow.
func gatesOf(server *apiserver.Manifest) string {
	value, _ := server.Arg("feature-gates")
	features := nodeauthorizer.DefaultFeatures()
	known := features.ByGate()
	var gates []string
	for gate := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(gate, "=")
		if _, ok := known[strings.TrimSpace(name)]; ok {
			gates = append(gates, strings.TrimSpace(gate))
		}
	}
	slices.Sort(gates)
	return strings.Join(gates, ",")
}
