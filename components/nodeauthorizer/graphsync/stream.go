// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// store is what a reflector and the live reads of one resource write to: the
// graph, and the record of how current that is.
type store struct {
	writer
	view *view

	// mu makes a write and its place in the order of versions one step.
	mu       sync.Mutex
	versions versions
}

func newStore(w writer, v *view) *store { return &store{writer: w, view: v} }

var (
	_ cache.TransformingStore      = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

// Add implements cache.ReflectorStore.
func (s *store) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *store) Update(object any) error { return s.event(object, s.setObject) }

// Delete implements cache.ReflectorStore. The version of a deleted object is that
// of its deletion.
func (s *store) Delete(object any) error { return s.event(object, s.removeObject) }

// event takes one event of the watch, unless a live read has shown the object in
// a later state: that state is then still to come.
func (s *store) event(object any, apply func(any) error) error {
	defer s.view.heard()
	s.mu.Lock()
	defer s.mu.Unlock()
	which, version := identify(object)
	defer s.versions.see(version)
	if s.versions.outdated(which, version) {
		return nil
	}
	return apply(object)
}

// Replace implements cache.ReflectorStore: what is not in the list is gone.
func (s *store) Replace(objects []any, version string) error {
	if err := s.replace(objects, version); err != nil {
		return err
	}
	s.view.listed()
	return nil
}

// replace takes back what live reads have shown as well. A later read shows it
// again, and the watch that follows the list will.
func (s *store) replace(objects []any, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.restart(version)
	return s.replaceObjects(objects)
}

// Resync implements cache.ReflectorStore. The graph has nothing to catch up with.
func (s *store) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore: nothing has changed up to now.
func (s *store) Bookmark(version string) error {
	s.view.heard()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.see(version)
	s.versions.prune()
	return nil
}

// Transformer implements cache.TransformingStore: it is asked about every object
// that the reflector gathers for Replace, as it comes in.
func (s *store) Transformer() cache.TransformFunc { return s.gather }

// gather takes an object of a list that is not complete yet into the graph, and
// leaves only its name to be gathered: a hundred thousand pods that wait for the
// last one take a gigabyte. It is a state that the object was in after what the
// watch has shown last, so the graph may have it. If the list is never completed,
// what it would have removed stays a while longer, as it does without a list.
//
// What cannot be set is left to Replace, which reports it.
func (s *store) gather(object any) (any, error) {
	if !s.takesEarly() {
		return s.trimObject(object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.setObject(object) != nil {
		return object, nil
	}
	which, version := identify(object)
	s.versions.gathered(which, version)
	return which, nil
}

// fold takes what a live read returned, as far as the watch has not come so far
// yet, and counts what it took.
func (s *store) fold(objects []runtime.Object) (taken int, err error) {
	for _, object := range objects {
		if _, err := s.trimObject(object); err != nil {
			return taken, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range objects {
		which, version := identify(object)
		isNews, err := s.versions.news(which, version)
		if err != nil {
			return taken, fmt.Errorf("comparing with the view: %w", err)
		}
		if !isNews {
			continue
		}
		if err := s.setObject(object); err != nil {
			return taken, err
		}
		s.versions.advance(which, version)
		taken++
	}
	return taken, nil
}

// identify tells which object it is, and in which version. The marker for a
// deletion that was not seen has no version: it is the end of what was known.
func identify(object any) (identity, string) {
	if unseen, ok := object.(cache.DeletedFinalStateUnknown); ok {
		namespace, name, err := cache.SplitMetaNamespaceKey(unseen.Key)
		if err != nil {
			return identity{}, ""
		}
		return identity{namespace, name}, ""
	}
	item, err := meta.Accessor(object)
	if err != nil {
		return identity{}, ""
	}
	return identity{item.GetNamespace(), item.GetName()}, item.GetResourceVersion()
}
