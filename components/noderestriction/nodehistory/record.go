// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

const (
	// mostTaints limits the recorded taints of one node.
	mostTaints = 64
	// mostInitial limits how many of them can be taints that a Node was registered with, because
	// its node may have chosen them. The rest is for taints that other clients add. A node cannot
	// use up that space.
	mostInitial = 16
)

// record has the recorded taints of one node. The zero value is an empty record. Its slices are
// never modified.
type record struct {
	// uid is the UID of the Node that was seen last. version is its resource version when the
	// record last changed.
	uid     types.UID
	version string
	// taints were seen on that Node. absent were seen only on an earlier Node of that name.
	taints, absent []corev1.Taint
	// initial are those of both that a Node was registered with.
	initial []corev1.Taint
	// more is true if the Node was registered with sticky taints for which there was no place.
	more bool
	// unreadable is true for a stored record that cannot be parsed.
	unreadable bool
}

func (r record) isEmpty() bool { return len(r.taints)+len(r.absent) == 0 && !r.unreadable }

// observed returns the record after a change of the Node. If nothing new is recorded, it returns
// the same record with the same version.
func (r record) observed(n *node, sticky *configuration.Keys) record {
	if isOlder(n.version, r.version) {
		return r
	}
	next := record{uid: n.uid, version: n.version}
	before := r.absent
	if r.uid != n.uid {
		before = slices.Concat(r.absent, r.taints)
	}
	next.absent = missing(before, n.taints)
	next.taints, next.initial, next.more = r.kept(n, sticky, next.absent)
	switch {
	case next.isEmpty():
		return r.forgotten()
	case r.tells(next):
		return r
	}
	return next
}

// tells reports whether both records are equal except for the version.
func (r record) tells(other record) bool {
	return r.uid == other.uid && r.more == other.more && r.unreadable == other.unreadable &&
		slices.Equal(r.taints, other.taints) && slices.Equal(r.absent, other.absent) && slices.Equal(r.initial, other.initial)
}

// forgotten returns the record of a Node that has nothing to record. A record that cannot be parsed
// may contain taints, so it stays.
func (r record) forgotten() record {
	if r.unreadable {
		return r
	}
	return record{}
}

// kept returns the taints of the Node to record, and which of all recorded taints a Node was
// registered with. more reports whether the Node was registered with taints for which there was no
// place.
//
//   - A taint that was recorded before keeps its place.
//   - A taint whose key the operator lists exactly comes before one that a prefix includes.
//   - New taints that the Node was registered with, together with the earlier ones, are at most
//     [mostInitial]. This leaves space for taints that other clients add later.
//   - If a taint is absent, the same taint with another value does not replace it.
func (r record) kept(n *node, sticky *configuration.Keys, absent []corev1.Taint) (all, initial []corev1.Taint,
	more bool) {
	var named, covered []corev1.Taint
	for _, taint := range n.taints {
		switch {
		case hasKind(absent, taint):
		case hasKind(r.taints, taint) || hasKind(r.absent, taint):
			all = append(all, taint)
		case sticky.Names(taint.Key):
			named = append(named, taint)
		case sticky.Has(taint.Key):
			covered = append(covered, taint)
		}
	}
	for _, taint := range r.initial {
		if slices.Contains(all, taint) || slices.Contains(absent, taint) {
			initial = append(initial, taint)
		}
	}
	for _, taint := range slices.Concat(named, covered) {
		own := slices.Contains(n.initial, taint)
		if len(all)+len(absent) >= mostTaints || own && len(initial) >= mostInitial {
			more = more || own
			continue
		}
		all = append(all, taint)
		if own {
			initial = append(initial, taint)
		}
	}
	return all, initial, more
}

// lacks returns the sticky taints of the Node for which there was no place.
func (r record) lacks(n *node, sticky *configuration.Keys) []corev1.Taint {
	var dropped []corev1.Taint
	for _, taint := range n.taints {
		if sticky.Has(taint.Key) && !hasKind(r.taints, taint) && !hasKind(r.absent, taint) {
			dropped = append(dropped, taint)
		}
	}
	return dropped
}

// missing returns the taints of the list wanted that are missing in the list there, without
// duplicates.
func missing(wanted, there []corev1.Taint) []corev1.Taint {
	var gone []corev1.Taint
	for _, taint := range wanted {
		if !slices.Contains(there, taint) && !slices.Contains(gone, taint) {
			gone = append(gone, taint)
		}
	}
	return gone
}

// hasKind reports whether there is a taint with the same key and effect. A Node can have only one
// such taint.
func hasKind(taints []corev1.Taint, taint corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect })
}

// isOlder reports whether version is older than the other one. It returns false if they cannot be
// compared.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// stored is the JSON form of a record in the ConfigMap.
type stored struct {
	UID     types.UID `json:"uid"`
	Version string    `json:"version"`
	// Taints are in the format of kubectl: key=value:effect.
	Taints []string `json:"taints,omitempty"`
	Absent []string `json:"absent,omitempty"`
	// InitialTaints are those of Taints and Absent that a Node was registered with.
	InitialTaints []string `json:"initial,omitempty"`
	// More is true if the Node was registered with sticky taints for which there was no place.
	More bool `json:"more,omitempty"`
}

func (r record) encode() string {
	encoded, err := json.Marshal(stored{r.uid, r.version, spell(r.taints), spell(r.absent), spell(r.initial), r.more})
	if err != nil {
		return "" // unreachable: a struct of strings always encodes
	}
	return string(encoded)
}

// decode parses a record. If it fails, the result has unreadable set.
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
	initial, err := read(s.InitialTaints)
	if err != nil {
		return record{unreadable: true}
	}
	return record{uid: s.UID, version: s.Version, taints: taints, absent: absent, initial: initial, more: s.More}
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
			return nil, fmt.Errorf("%q is not a taint", text)
		}
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints, nil
}
