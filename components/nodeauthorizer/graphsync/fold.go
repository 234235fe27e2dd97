// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// Fold takes what a live read of a resource returned into the graph, so that the
// graph is at least as new as the read in all that is in it. What the watch has
// shown already is left out, so a slow read undoes nothing. The objects are
// trimmed in place.
//
// It tells how many objects were news. An error means that the graph may be older
// than the read: the resource is not watched, it has not been listed yet, or its
// versions cannot be compared. It is safe for concurrent use.
func (s *Sync) Fold(resource string, objects ...runtime.Object) (news int, err error) {
	for _, w := range s.watched {
		if w.name != resource {
			continue
		}
		news, err := w.fold(objects)
		if err != nil {
			return news, fmt.Errorf("folding %s: %w", resource, err)
		}
		return news, nil
	}
	return 0, fmt.Errorf("folding %s: it is not watched", resource)
}

// Watches reports whether the resource is one of those that make the graph.
func (s *Sync) Watches(resource string) bool {
	for _, w := range s.watched {
		if w.name == resource {
			return true
		}
	}
	return false
}
