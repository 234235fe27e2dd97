// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import "github.com/bulkhead-k8s/bulkhead/components/conformance/harness"

// sharedFields are the fields that the pods of [Generator.ManyConsumers] use.
var sharedFields = []string{
	"imagePullSecrets", "volumes.configMap", "volumes.persistentVolumeClaim", "resourceClaims.resourceClaimName",
}

// ManyConsumers creates an object of each of four kinds, named "a" in namespace ns1. More than 200
// pods of node n3 name it. Some pods of other nodes name one of the objects twice. So the next
// events happen to objects with very many consumers.
func (m *Generator) ManyConsumers() []Step {
	var steps []Step
	for range 205 + m.IntN(10) {
		m.uids++
		pod := Pod{Namespace: "ns1", Name: "consumer-" + numbered(m.uids), Node: "n3"}
		for _, via := range sharedFields {
			pod.Refs = append(pod.Refs, Ref{Via: via, Name: "a"})
		}
		steps = append(steps, Set(pod))
	}
	for _, name := range names {
		twice := Ref{Via: harness.Pick(m.RNG, sharedFields), Name: "a"}
		steps = append(
			steps,
			Set(Pod{Namespace: "ns1", Name: name, Node: harness.Pick(m.RNG, nodes), Refs: []Ref{twice, twice}}),
		)
	}
	m.apply(steps...)
	return steps
}
