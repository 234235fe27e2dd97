// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// A cluster has a value for each DaemonSet, not for each of its pods. Each namespace has a
// share of values for its accounts and one for its pods, so that a user who may annotate
// pods cannot take the accounts' room. kube-system has all that there is.
const (
	// MaxValues bounds the different values that are kept of all namespaces, but for
	// [ReservedValues] of each.
	MaxValues = 4096
	// MaxOwnValues bounds those of the accounts, and those of the pods, of one namespace.
	MaxOwnValues = 64
	// ReservedValues always have room, whatever other namespaces have.
	ReservedValues = 8
)

// errFull says why a value was not kept. The holder is held on everything then; nothing
// changes for other holders.
var errFull = fmt.Errorf(
	"the namespace has more different values of %s than its share, which is %d for accounts and %d for pods",
	nodescope.ScopeAnnotation, MaxOwnValues, MaxOwnValues)

// Owner is whose share a value counts in.
type Owner struct {
	Namespace string
	OfPods    bool
}

// Value is one that somebody has, parsed.
type Value struct {
	owner Owner
	text  string
	scope *nodescope.Scope
	// Err says why the value cannot be read, or was not kept; the scope is everything then.
	Err     error
	holders int
}

// misread is false for no value.
func (v *Value) misread() bool { return v != nil && v.Err != nil }

// beyond is true for a value that its namespace has no room for.
func (v *Value) beyond() bool { return v == full }

// valueKey is a value of one owner: what a namespace has does not depend on another's.
type valueKey struct {
	owner Owner
	text  string
}

// Values keeps each value of an owner once. It is not safe for concurrent use. Use
// [NewValues].
type Values struct {
	known map[valueKey]*Value
	count map[Owner]int
}

// NewValues keeps nothing yet.
func NewValues() *Values { return &Values{map[valueKey]*Value{}, map[Owner]int{}} }

// full stands for every value that there is no room for.
var full = &Value{scope: nodescope.Everything(), Err: errFull}

// Hold finds or parses the value. What is held has to be released once. It is never nil.
func (v *Values) Hold(by Owner, text string) *Value {
	if known, ok := v.known[valueKey{by, text}]; ok {
		known.holders++
		return known
	}
	if len(text) > nodescope.MaxValueLength {
		// The text itself is not kept.
		scope, err := nodescope.ParseScope(text)
		return &Value{scope: scope, Err: err}
	}
	if !v.hasRoom(by) {
		return full
	}
	scope, err := nodescope.ParseScope(text)
	held := &Value{owner: by, text: text, scope: scope, Err: err, holders: 1}
	v.known[valueKey{by, text}] = held
	v.count[by]++
	return held
}

// Change holds the value in place of one that was held before, which may be nil. What both
// are is not parsed again, and what is given back makes room.
func (v *Values) Change(before *Value, by Owner, text string) *Value {
	if before != nil && before.holders > 0 && before.owner == by && before.text == text {
		return before
	}
	v.Release(before)
	return v.Hold(by, text)
}

func (v *Values) hasRoom(by Owner) bool {
	own := v.count[by]
	switch {
	case by.Namespace == metav1.NamespaceSystem:
		return own < MaxValues
	case own < ReservedValues:
		return true
	}
	return own < MaxOwnValues && len(v.known) < MaxValues
}

// Release takes back one Hold; nil is nothing to take back.
func (v *Values) Release(held *Value) {
	if held == nil || held.holders == 0 {
		return
	}
	if held.holders--; held.holders > 0 {
		return
	}
	delete(v.known, valueKey{held.owner, held.text})
	if v.count[held.owner]--; v.count[held.owner] == 0 {
		delete(v.count, held.owner)
	}
}
