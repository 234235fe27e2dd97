// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "math/rand/v2"

// dice draws names from very small sets, so that most of them collide.
type dice struct{ *rand.Rand }

// nodeOf is the node name of each user that creates CSRs.
var nodeOf = map[string]string{
	"system:node:n1": "n1", "system:node:n2": "n2", "system:node:": "", "n1": "", "system:bootstrap:x": "",
}

func (d dice) pick(pool ...string) string { return pool[d.IntN(len(pool))] }
func (d dice) namespace() string          { return d.pick("ns1", "ns2") }
func (d dice) node() string               { return d.pick("n1", "n2", "n3", "") }
func (d dice) name() string               { return d.pick("a", "b", "c") }
func (d dice) uid() string                { return d.pick("1", "2") }
func (d dice) user() string {
	return d.pick("system:node:n1", "system:node:n2", "system:node:", "n1", "system:bootstrap:x")
}

// claimName returns names of claims for pods with an ephemeral volume b, and other names.
func (d dice) claimName() string { return d.pick("a", "b", "a-b", "b-b", "b-b") }
func (d dice) in() identity      { return identity{d.namespace(), d.name()} }
func (d dice) claimIn() identity { return identity{d.namespace(), d.claimName()} }
func (d dice) oneIn(n int) bool  { return d.IntN(n) == 0 }
func (d dice) claim() worldClaim {
	claim := worldClaim{pod: d.pick("a", "b", "b", ""), uid: d.uid(), other: d.oneIn(6)}
	if claim.pod == "" {
		return worldClaim{}
	}
	return claim
}

func (d dice) pod() worldPod {
	pod := worldPod{
		uid: d.uid(), node: d.node(), mirror: d.oneIn(8),
		token: d.oneIn(3), certificate: d.oneIn(3), driver: d.oneIn(6),
	}
	for range d.IntN(7) {
		switch d.IntN(7) {
		case 0, 1:
			pod.named = append(pod.named, worldRef{kind: Secret, name: d.name()})
		case 2:
			pod.named = append(pod.named, worldRef{kind: ConfigMap, name: d.name()})
		case 3:
			pod.named = append(pod.named, worldRef{kind: ResourceClaim, name: d.name()})
		case 4:
			pod.named = append(pod.named, worldRef{kind: PersistentVolumeClaim, name: d.claimName()})
		default:
			pod.named = append(pod.named, worldRef{kind: PersistentVolumeClaim, name: "b", ephemeral: true})
		}
	}
	if d.oneIn(2) {
		pod.named = append(pod.named, worldRef{kind: ServiceAccount, name: d.name()})
	}
	return pod
}

func (d dice) volume() worldVolume {
	volume := worldVolume{claim: d.claimIn()}
	if d.oneIn(6) {
		volume.claim = identity{}
	}
	for range d.IntN(4) {
		volume.secrets = append(volume.secrets, d.in())
	}
	return volume
}
