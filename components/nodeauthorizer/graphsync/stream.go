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

// store is the destination of the reflector and the live reads of one resource. It writes to the
// graph and records how current the graph is.
type store struct {
	writer
	view *view

	// mu makes a write and the update of versions one atomic step.
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

// Delete implements cache.ReflectorStore. The resource version of a deleted object is the version
// of its deletion.
func (s *store) Delete(object any) error { return s.event(object, s.removeObject) }

// event applies one watch event. It skips the event if a live read has already shown a newer state
// of the object. The watch will send that state later.
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

// Replace implements cache.ReflectorStore. It deletes every object that is not in the list.
func (s *store) Replace(objects []any, version string) error {
	if err := s.replace(objects, version); err != nil {
		return err
	}
	s.view.listed()
	return nil
}

// replace also reverts what live reads have shown. A later live read, or the watch that follows the
// list, shows it again.
func (s *store) replace(objects []any, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.restart(version)
	return s.replaceObjects(objects)
}

// Resync implements cache.ReflectorStore. It does nothing: the graph needs no resync.
func (s *store) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore. It records that the graph is current up to this
// version.
func (s *store) Bookmark(version string) error {
	s.view.heard()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.see(version)
	s.versions.prune()
	return nil
}

// Transformer implements cache.TransformingStore. The reflector calls the function for every object
// that it collects for Replace, when the object arrives.
func (s *store) Transformer() cache.TransformFunc { return s.gather }

// gather writes an object of an incomplete list to the graph, and returns only its name to the
// reflector. A hundred thousand complete pods that wait for the end of the list would take a
// gigabyte. The object's state is newer than what the watch has sent last, so the graph may contain
// it. If the list never completes, the objects that it would delete stay for longer, as they do
// without a list.
//
// If an object cannot be set, Replace reports it.
func (s *store) gather(object any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.setObject(object) != nil {
		return object, nil
	}
	which, version := identify(object)
	s.versions.gathered(which, version)
	return which, nil
}

// fold writes the objects of a live read to the graph, except those that the watch has already
// shown in this or a newer version. It returns how many objects it wrote.
func (s *store) fold(objects []runtime.Object) (taken int, err error) {
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

// identify returns the object's identity and resource version. The marker for a deletion that the
// watch missed has no resource version.
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
