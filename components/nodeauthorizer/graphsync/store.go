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

// writer writes the objects of a reflector to the graph.
type writer interface {
	setObject(object any) error
	removeObject(object any) error
	replaceObjects(objects []any) error
}

// typed is the writer for objects of type T.
type typed[T metav1.Object] struct {
	set    func(T)
	remove func(namespace, name string)
	// retain deletes every object that is not in a list whose objects were set before.
	retain func(keep map[types.NamespacedName]struct{})
}

func (w typed[T]) setObject(object any) error {
	item, err := as[T](object)
	if err != nil {
		return err
	}
	w.set(item)
	return nil
}

// removeObject also accepts client-go's marker for a deletion that the watch missed. The marker may
// contain an old state of the object or none, so only its key is used.
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

// replaceObjects sets the objects that are complete. It deletes every object that is in the list
// neither completely nor by name. It reports objects of another type.
func (w typed[T]) replaceObjects(objects []any) error {
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

func as[T any](object any) (T, error) {
	item, ok := object.(T)
	if !ok {
		return item, fmt.Errorf("received a %T, want a %T", object, item)
	}
	return item, nil
}
