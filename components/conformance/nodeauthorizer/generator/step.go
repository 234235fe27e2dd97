// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import "github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"

// Step is one thing that happens. Use [Set], [Delete], [Break] and [Relist].
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

// Set creates the object or changes it to what it says now.
func Set(object Object) Step { return Step{action: set, object: object, key: object.Key()} }

// Delete deletes the object. To delete what there is not is no event.
func Delete(kind graph.Kind, namespace, name string) Step {
	return Step{action: remove, key: Key{kind, namespace, name}}
}

// Break breaks the watch for a kind: no one sees what happens until [Relist].
func Break(kind graph.Kind) Step { return Step{action: breakWatch, key: Key{Kind: kind}} }

// Relist lists a kind anew and mends its watch. What came and went meanwhile is
// never seen, and what was deleted and made again looks like an update.
func Relist(kind graph.Kind) Step { return Step{action: relist, key: Key{Kind: kind}} }

// Kind is the kind of objects that the step is about.
func (s Step) Kind() graph.Kind { return s.key.Kind }

// Simpler lists steps that do a little less.
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
