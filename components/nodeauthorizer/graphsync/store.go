// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// writer takes what a reflector receives to the graph.
type writer interface {
	setObject(object any) error
	removeObject(object any) error
	replaceObjects(objects []any) error
	trimObject(object any) (any, error)
}

// typed is the writer for objects of type T.
type typed[T metav1.Object] struct {
	set     func(T)
	remove  func(namespace, name string)
	replace func([]T)
	// trim, which may be nil, drops in place what set does not read.
	trim func(T)
}

func (w typed[T]) setObject(object any) error {
	item, err := as[T](object)
	if err != nil {
		return err
	}
	w.set(item)
	return nil
}

// removeObject also takes the marker for a deletion that was not seen. It may
// carry an old state of the object, or none: its key is what counts.
func (w typed[T]) removeObject(object any) error {
	if unseen, ok := object.(cache.DeletedFinalStateUnknown); ok {
		namespace, name, err := cache.SplitMetaNamespaceKey(unseen.Key)
		if err != nil {
			return fmt.Errorf("reading the key of a deletion that was not seen: %w", err)
		}
		w.remove(namespace, name)
		return nil
	}
	item, err := as[T](object)
	if err != nil {
		return err
	}
	w.remove(item.GetNamespace(), item.GetName())
	return nil
}

// replaceObjects sets everything that it can: objects of another type are left
// out, as a deletion would leave them, and reported.
func (w typed[T]) replaceObjects(objects []any) error {
	items := make([]T, 0, len(objects))
	var faults []error
	for _, object := range objects {
		item, err := as[T](object)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		items = append(items, item)
	}
	w.replace(items)
	return errors.Join(faults...)
}

func (w typed[T]) trimObject(object any) (any, error) {
	if item, ok := object.(T); ok && w.trim != nil {
		w.trim(item)
	}
	return object, nil
}

func as[T any](object any) (T, error) {
	item, ok := object.(T)
	if !ok {
		return item, fmt.Errorf("received a %T, want a %T", object, item)
	}
	return item, nil
}

// store is what the reflector writes to: the graph, and the record of how current
// that is.
type store struct {
	writer
	view *view
}

var (
	_ cache.TransformingStore      = store{}
	_ cache.ReflectorBookmarkStore = store{}
)

// Add implements cache.ReflectorStore.
func (s store) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s store) Update(object any) error {
	defer s.view.heard()
	return s.setObject(object)
}

// Delete implements cache.ReflectorStore.
func (s store) Delete(object any) error {
	defer s.view.heard()
	return s.removeObject(object)
}

// Replace implements cache.ReflectorStore: what is not in the list is gone.
func (s store) Replace(objects []any, _ string) error {
	if err := s.replaceObjects(objects); err != nil {
		return err
	}
	s.view.listed()
	return nil
}

// Resync implements cache.ReflectorStore. The graph has nothing to catch up with.
func (s store) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore: nothing has changed up to now.
func (s store) Bookmark(string) error {
	s.view.heard()
	return nil
}

// Transformer implements cache.TransformingStore: the reflector trims what it
// gathers for Replace as it comes in.
func (s store) Transformer() cache.TransformFunc { return s.trimObject }
