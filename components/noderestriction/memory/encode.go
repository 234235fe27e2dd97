// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// stored is a record as a person reads it in the ConfigMap.
type stored struct {
	UID     types.UID `json:"uid"`
	Version string    `json:"version"`
	// Taints are spelled as kubectl spells them.
	Taints []string `json:"taints,omitempty"`
	Absent []string `json:"absent,omitempty"`
	// Brought are those of both that a Node came with.
	Brought []string `json:"brought,omitempty"`
	// More is true if the Node came with sticky taints that found no place.
	More bool `json:"more,omitempty"`
}

func (r record) encode() string {
	encoded, err := json.Marshal(stored{r.uid, r.version, spell(r.taints), spell(r.absent), spell(r.brought), r.more})
	if err != nil {
		return "" // strings can always be written
	}
	return string(encoded)
}

// decode reads a record. One that cannot be read says so itself.
func decode(text string) record {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return record{unreadable: true}
	}
	taints, err := read(s.Taints)
	if err != nil {
		return record{unreadable: true}
	}
	absent, err := read(s.Absent)
	if err != nil {
		return record{unreadable: true}
	}
	brought, err := read(s.Brought)
	if err != nil {
		return record{unreadable: true}
	}
	return record{uid: s.UID, version: s.Version, taints: taints, absent: absent, brought: brought, more: s.More}
}

func spell(taints []corev1.Taint) []string {
	var texts []string
	for _, taint := range taints {
		texts = append(texts, taint.ToString())
	}
	return texts
}

func read(texts []string) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for _, text := range texts {
		pair, effect, found := strings.Cut(text, ":")
		key, value, _ := strings.Cut(pair, "=")
		if !found || key == "" || effect == "" {
			return nil, fmt.Errorf("%q is no taint", text)
		}
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints, nil
}
