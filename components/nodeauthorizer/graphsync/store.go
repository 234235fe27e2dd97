// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// writer takes what a reflector receives to the graph.
type writer interface {
	setObject(object any) error
	removeObject(object any) error
	replaceObjects(objects []any) error
	trimObject(object any) (any, error)
	// takesEarly reports whether the objects of a list may be set as they come, and
	// only their names be handed to replaceObjects.
	takesEarly() bool
}

// typed is the writer for objects of type T.
type typed[T metav1.Object] struct {
	set    func(T)
	remove func(namespace, name string)
	// replace is for resources of which a list takes little room. The others have
	// retain in its place, which forgets what is not in a list that was set before.
	replace func([]T)
	retain  func(keep map[types.NamespacedName]struct{})
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
	if w.takesEarly() {
		return w.retainObjects(objects)
	}
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

func (w typed[T]) takesEarly() bool { return w.retain != nil }

// retainObjects sets what has come whole, and has what has come neither whole nor
// as a name forgotten.
func (w typed[T]) retainObjects(objects []any) error {
	keep := make(map[types.NamespacedName]struct{}, len(objects))
	var faults []error
	for _, object := range objects {
		if early, ok := object.(identity); ok {
			keep[types.NamespacedName{Namespace: early.namespace, Name: early.name}] = struct{}{}
			continue
		}
		item, err := as[T](object)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		w.set(item)
		keep[types.NamespacedName{Namespace: item.GetNamespace(), Name: item.GetName()}] = struct{}{}
	}
	w.retain(keep)
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
