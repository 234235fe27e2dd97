// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"slices"
	"strings"
)

// ServerPath is what a request through the API server needs besides nodes/proxy.
type ServerPath struct {
	// Prefix is how the path begins: one segment or two, in lower case and without a slash
	// at either end; * is every path that no other prefix covers.
	Prefix string
	// Rights are the rights, of which one is enough.
	Rights []Attributes
}

// servedBy are the methods that the kubelet serves where that is not GET
// (pkg/kubelet/server/server.go InstallDefaultHandlers, InstallAuthNotRequiredHandlers).
var servedBy = map[string]string{"checkpoint": "POST", "debug/flags": "PUT"}

// ServerPaths is what rule KA-VAP-1 asks for: what [Strict] asks for at the node's port.
// An admission policy does not see the HTTP method, so the verb is that of the method that
// the kubelet serves. By any other method the proxy refuses the API server, whose
// ClusterRole has these verbs only.
func ServerPaths() []ServerPath {
	var paths []ServerPath
	for _, prefix := range slices.Concat(firstSegments, []string{"debug/flags", "*"}) {
		method := servedBy[prefix]
		if method == "" {
			method = "GET"
		}
		mapping, _ := Strict.Map(Request{Method: method, Path: "/" + prefix})
		paths = append(paths, ServerPath{Prefix: strings.ToLower(prefix), Rights: mapping.Attempts})
	}
	return paths
}
