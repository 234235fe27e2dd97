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
	// mostTaints bounds what is remembered of one node.
	mostTaints = 64
	// mostInitial bounds how many of those it has come with, which its node may have
	// chosen. The rest is for what others put on it, and no node can use it up.
	mostInitial = 16
)

// record is what is remembered of the taints of one node. The zero value is
// nothing. Its slices are never written to.
type record struct {
	// uid is that of the Node that was seen last, and version its resource version
	// when the record was last changed.
	uid     types.UID
	version string
	// taints were seen on that Node, absent only on one before it.
	taints, absent []corev1.Taint
	// initial are those of both that a Node came with.
	initial []corev1.Taint
	// more is true if the Node has come with sticky taints that found no place.
	more bool
	// unreadable is true for a record that somebody has spoilt.
	unreadable bool
}

func (r record) isEmpty() bool { return len(r.taints)+len(r.absent) == 0 && !r.unreadable }

// observed is the record after a look at the Node. It is the same record, with the
// same version, if there is nothing new.
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

// tells is true if another record says the same, apart from the version.
func (r record) tells(other record) bool {
	return r.uid == other.uid && r.more == other.more && r.unreadable == other.unreadable &&
		slices.Equal(r.taints, other.taints) && slices.Equal(r.absent, other.absent) && slices.Equal(r.initial, other.initial)
}

// forgotten is what is left when nothing is to be remembered. A record that nobody
// can read may say something, so it stays.
func (r record) forgotten() record {
	if r.unreadable {
		return r
	}
	return record{}
}

// kept are the taints of the Node to remember, and which of all that is remembered
// Nodes have come with. What was remembered before stays, whatever comes; what is
// marked by name comes before what a * covers. New ones that the Node came with are at
// most [mostInitial] together with those from earlier, so what others put on it later
// has room. A taint that is on the Node with another value than the one that is absent
// does not stand in for it. It also returns whether the Node came with more.
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

// missing returns those of the wanted taints that are not there.
func missing(wanted, there []corev1.Taint) []corev1.Taint {
	var gone []corev1.Taint
	for _, taint := range wanted {
		if !slices.Contains(there, taint) && !slices.Contains(gone, taint) {
			gone = append(gone, taint)
		}
	}
	return gone
}

// hasKind is true if there is a taint of the same key and effect. A Node has one of
// them at most.
func hasKind(taints []corev1.Taint, taint corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect })
}

// isOlder is true if a version is known to come before another one.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// stored is a record as a person reads it in the ConfigMap.
type stored struct {
	UID     types.UID `json:"uid"`
	Version string    `json:"version"`
	// Taints are spelled as kubectl spells them.
	Taints []string `json:"taints,omitempty"`
	Absent []string `json:"absent,omitempty"`
	// InitialTaints are those of both that a Node came with.
	InitialTaints []string `json:"initial,omitempty"`
	// More is true if the Node came with sticky taints that found no place.
	More bool `json:"more,omitempty"`
}

func (r record) encode() string {
	encoded, err := json.Marshal(stored{r.uid, r.version, spell(r.taints), spell(r.absent), spell(r.initial), r.more})
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
			return nil, fmt.Errorf("%q is no taint", text)
		}
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints, nil
}
