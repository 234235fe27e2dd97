// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// A cluster has about one value for each DaemonSet, not one for each pod. Each namespace has
// one share of values for its accounts and one for its pods. So a user who can annotate pods
// cannot use up the room of the accounts. kube-system can use all values.
const (
	// MaxValues is the maximum number of different values of all namespaces together. The
	// [ReservedValues] of each namespace are always accepted.
	MaxValues = 4096
	// MaxOwnValues is the maximum number for the accounts of one namespace, and for its pods.
	MaxOwnValues = 64
	// ReservedValues is the number that a namespace can always store, however many other
	// namespaces store.
	ReservedValues = 8
)

// errFull is the error of a value that is beyond the share. Its scope is everything. Other
// objects are not affected.
var errFull = fmt.Errorf(
	"the namespace has more different values of %s than its share, which is %d for accounts and %d for pods",
	nodescope.ScopeAnnotation, MaxOwnValues, MaxOwnValues)

// Owner is the share in which a value counts.
type Owner struct {
	Namespace string
	OfPods    bool
}

// Value is a parsed value of at least one object.
type Value struct {
	owner Owner
	text  string
	scope *nodescope.Scope
	// Err says why the value cannot be parsed or is not stored. The scope is then everything.
	Err      error
	refcount int
}

// misread is false for nil.
func (v *Value) misread() bool { return v != nil && v.Err != nil }

// overShare is true for a value that exceeds the share of its namespace.
func (v *Value) overShare() bool { return v == full }

// valueKey identifies a value of one owner. Namespaces do not share values, so their shares are
// independent.
type valueKey struct {
	owner Owner
	text  string
}

// Values stores each value of an owner once, with a reference count. It is not safe for
// concurrent use. Use [NewValues].
type Values struct {
	known map[valueKey]*Value
	count map[Owner]int
}

// NewValues returns an empty store.
func NewValues() *Values { return &Values{map[valueKey]*Value{}, map[Owner]int{}} }

// full stands for every value that exceeds the share.
var full = &Value{scope: nodescope.Everything(), Err: errFull}

// Acquire finds the value, or parses and stores it. Each call must be followed by one call of
// Release. The result is never nil.
func (v *Values) Acquire(by Owner, text string) *Value {
	if known, ok := v.known[valueKey{by, text}]; ok {
		known.refcount++
		return known
	}
	if len(text) > nodescope.MaxValueLength {
		// The text is too long to be stored.
		scope, err := nodescope.ParseScope(text)
		return &Value{scope: scope, Err: err}
	}
	if !v.hasSpace(by) {
		return full
	}
	scope, err := nodescope.ParseScope(text)
	scopeValue := &Value{owner: by, text: text, scope: scope, Err: err, refcount: 1}
	v.known[valueKey{by, text}] = scopeValue
	v.count[by]++
	return scopeValue
}

// Change replaces one reference with another. before may be nil. If the value is the same, it
// is not parsed again. The old reference is released first, so its room can be used.
func (v *Values) Change(before *Value, by Owner, text string) *Value {
	if before != nil && before.refcount > 0 && before.owner == by && before.text == text {
		return before
	}
	v.Release(before)
	return v.Acquire(by, text)
}

func (v *Values) hasSpace(by Owner) bool {
	own := v.count[by]
	switch {
	case by.Namespace == metav1.NamespaceSystem:
		return own < MaxValues
	case own < ReservedValues:
		return true
	}
	return own < MaxOwnValues && len(v.known) < MaxValues
}

// Release reverts one Acquire. It does nothing for nil.
func (v *Values) Release(scopeValue *Value) {
	if scopeValue == nil || scopeValue.refcount == 0 {
		return
	}
	if scopeValue.refcount--; scopeValue.refcount > 0 {
		return
	}
	delete(v.known, valueKey{scopeValue.owner, scopeValue.text})
	if v.count[scopeValue.owner]--; v.count[scopeValue.owner] == 0 {
		delete(v.count, scopeValue.owner)
	}
}
