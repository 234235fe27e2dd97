// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// owner says who set a field of a Node, as far as its managedFields show it.
type owner int

const (
	// unknownOwner: no manager owns the field, or the owner may have kept what the node had set.
	unknownOwner owner = iota
	// otherOwner: a client that is not a kubelet.
	otherOwner
	kubeletOwner
)

// fieldOwners are the owners of the labels and the taints of one Node.
type fieldOwners struct {
	labels map[string]owner
	taints owner
}

// ownedFields is the part of FieldsV1 that is about labels and taints.
type ownedFields struct {
	Metadata struct {
		Labels map[string]json.RawMessage `json:"f:labels"`
	} `json:"f:metadata"`
	Spec struct {
		Taints json.RawMessage `json:"f:taints"`
	} `json:"f:spec"`
}

// ownersOf reads the managedFields of a Node. An entry that cannot be decoded shows no owner.
//
// Taints are one field, because their list is atomic. A client that changes one taint owns the
// whole list after that. So only a kubelet as the owner is certain.
func ownersOf(node *corev1.Node) fieldOwners {
	owners := fieldOwners{labels: map[string]owner{}}
	for _, entry := range node.ManagedFields {
		var fields ownedFields
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		by := otherOwner
		if strings.HasPrefix(entry.Manager, "kubelet") {
			by = kubeletOwner
		}
		for field := range fields.Metadata.Labels {
			if key, isLabel := strings.CutPrefix(field, "f:"); isLabel {
				owners.labels[key] = max(owners.labels[key], by)
			}
		}
		if fields.Spec.Taints != nil && by == kubeletOwner {
			owners.taints = kubeletOwner
		}
	}
	return owners
}
