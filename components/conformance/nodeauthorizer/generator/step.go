// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import "github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"

// Step is one event in the cluster. Create one with [Set], [Delete], [Break] or [Relist].
type Step struct {
	action action
	object Object
	key    Key
}

type action uint8

const (
	set action = iota
	remove
	breakWatch
	relist
)

// Set creates the object, or updates it to this content.
func Set(object Object) Step { return Step{action: set, object: object, key: object.Key()} }

// Delete deletes an object. The deletion of a missing object causes no event.
func Delete(kind graph.Kind, namespace, name string) Step {
	return Step{action: remove, key: Key{kind, namespace, name}}
}

// Break breaks the watch for a kind. The watch shows no events until [Relist].
func Break(kind graph.Kind) Step { return Step{action: breakWatch, key: Key{Kind: kind}} }

// Relist lists a kind again and restores its watch. An object that was created and deleted in
// between is never shown. An object that was deleted and created again looks updated.
func Relist(kind graph.Kind) Step { return Step{action: relist, key: Key{Kind: kind}} }

// Kind is the kind of the step's objects.
func (s Step) Kind() graph.Kind { return s.key.Kind }

// Simpler returns steps with fewer details.
func (s Step) Simpler() []Step {
	if s.action != set {
		return nil
	}
	var simpler []Step
	for _, object := range s.object.Simpler() {
		simpler = append(simpler, Set(object))
	}
	return simpler
}
