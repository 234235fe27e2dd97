// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "testing"

func TestEndpoints(t *testing.T) { runTwins(t, endpointTwins()) }

// In endpointTwins, the allowed request is not for endpoints: no object on a node refers to
// endpoints.
func endpointTwins() []twins {
	return []twins{{
		name:    "endpoints instead of their service",
		refused: request{Verb: "get", Resource: "endpoints", Namespace: "ns", Name: "x"},
		allowed: request{Verb: "get", Resource: "services", Namespace: "ns", Name: "x"},
		by:      endpointsReferenced, bare: "[NA-UNI-ENDPOINTS]",
		text: "nothing on node 'me' refers to endpoints",
	}}
}
