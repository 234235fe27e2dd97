// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// Simpler returns writes with one detail less.
func (w *Write) Simpler() []*Write {
	var all []*Write
	try := func(edit func(*Write)) {
		less := w.Clone()
		edit(less)
		if !reflect.DeepEqual(less, w) {
			all = append(all, less)
		}
	}
	try(func(w *Write) { w.DryRun = false })
	try(func(w *Write) { w.Defaulted = false })
	try(func(w *Write) { w.Object = nil })
	try(func(w *Write) { w.Old = nil })
	try(func(w *Write) { w.User = asNode("n1") })
	try(func(w *Write) { w.Subresource = "" })
	try(func(w *Write) { w.Namespace = "" })
	for path := range max(parts(w.Object), parts(w.Old)) {
		try(func(w *Write) { w.Object, w.Old = without(w.Object, path), without(w.Old, path) })
		if w.Operation == admission.Update {
			try(func(w *Write) { w.Object = without(w.Object, path) })
			try(func(w *Write) { w.Old = without(w.Old, path) })
		}
	}
	return all
}

// Simpler returns clusters with one object less.
func (w *Cluster) Simpler() []*Cluster {
	var all []*Cluster
	v := reflect.ValueOf(w).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.Slice {
			continue
		}
		for j := range v.Field(i).Len() {
			less := *w
			field := reflect.ValueOf(&less).Elem().Field(i)
			kept := reflect.AppendSlice(reflect.MakeSlice(field.Type(), 0, field.Len()), field.Slice(0, j))
			field.Set(reflect.AppendSlice(kept, field.Slice(j+1, field.Len())))
			all = append(all, &less)
		}
	}
	return all
}

// parts returns the number of parts of an object that can be left out.
func parts(o runtime.Object) int {
	if o == nil {
		return 0
	}
	count := 0
	visit(reflect.ValueOf(o).Elem(), func(func()) bool { count++; return true })
	return count
}

// without returns an object without its nth part.
func without(o runtime.Object, nth int) runtime.Object {
	if o == nil {
		return nil
	}
	less := o.DeepCopyObject()
	visit(reflect.ValueOf(less).Elem(), func(drop func()) bool {
		nth--
		if nth < 0 {
			drop()
		}
		return nth >= 0
	})
	return less
}

// visit calls offer for each value that is set, outer values first, until offer returns false. The
// caller must not continue after a value was removed.
func visit(v reflect.Value, offer func(drop func()) bool) bool {
	switch v.Kind() { //nolint:exhaustive // nothing else has parts
	case reflect.Struct:
		return visitFields(v, offer)
	case reflect.Pointer:
		return v.IsNil() || visit(v.Elem(), offer)
	case reflect.Slice:
		return visitElements(v, offer)
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			if !offer(func() { v.SetMapIndex(key, reflect.Value{}) }) {
				return false
			}
		}
	}
	return true
}

func visitFields(v reflect.Value, offer func(drop func()) bool) bool {
	for i := range v.NumField() {
		field := v.Field(i)
		if !field.CanSet() || field.IsZero() {
			continue
		}
		if !offer(field.SetZero) || !visit(field, offer) {
			return false
		}
	}
	return true
}

func visitElements(v reflect.Value, offer func(drop func()) bool) bool {
	for i := range v.Len() {
		drop := func() { v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, v.Len()))) }
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		if !offer(drop) || !visit(v.Index(i), offer) {
			return false
		}
	}
	return true
}
