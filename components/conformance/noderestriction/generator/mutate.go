// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// Mutate changes a random field of an object.
func (m *Generator) Mutate(o runtime.Object) { m.mutate(reflect.ValueOf(o).Elem()) }

// MutateValue changes a random field of the value that pointer points to.
func (m *Generator) MutateValue(pointer any) { m.mutate(reflect.ValueOf(pointer).Elem()) }

var words = []string{"x", "", "n1", "n2", "a", "a-1", "kubernetes.io/hostname", "v1"}

func (m *Generator) mutate(v reflect.Value) {
	switch value := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*value = resource.MustParse(harness.Pick(m.RNG, []string{"0", "1", "1Gi", "1024Mi", "1000m"}))
		return
	case *metav1.Time:
		value.Time = time.Unix(int64(m.IntN(3)), 0).UTC()
		return
	case *metav1.MicroTime:
		value.Time = time.Unix(int64(m.IntN(3)), 0).UTC()
		return
	case *metav1.TypeMeta, *metav1.FieldsV1, *runtime.RawExtension:
		return
	}
	m.mutateKind(v)
}

func (m *Generator) mutateKind(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the API has no other kinds
	case reflect.Struct:
		m.mutate(v.Field(m.IntN(v.NumField())))
	case reflect.Pointer:
		m.mutatePointer(v)
	case reflect.Slice:
		m.mutateSlice(v)
	case reflect.Map:
		m.mutateMap(v)
	case reflect.String:
		v.SetString(harness.Pick(m.RNG, words))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(m.IntN(3)))
	}
}

func (m *Generator) mutatePointer(v reflect.Value) {
	switch {
	case v.IsNil():
		v.Set(reflect.New(v.Type().Elem()))
		if m.OneIn(2) {
			m.mutate(v.Elem())
		}
	case m.OneIn(3):
		v.SetZero()
	default:
		m.mutate(v.Elem())
	}
}

func (m *Generator) mutateSlice(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return
	}
	switch {
	case v.Len() == 0 || m.OneIn(3):
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		m.mutate(v.Index(v.Len() - 1))
	case m.OneIn(2):
		i := m.IntN(v.Len())
		v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, v.Len())))
	default:
		m.mutate(v.Index(m.IntN(v.Len())))
	}
}

func (m *Generator) mutateMap(v reflect.Value) {
	if v.Len() > 0 && m.OneIn(2) {
		v.SetMapIndex(harness.Pick(m.RNG, sortedKeys(v)), reflect.Value{})
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	m.mutate(key)
	m.mutate(value)
	v.SetMapIndex(key, value)
}

// sortedKeys returns the keys in an order that is the same in every run.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.String() < b.String():
			return -1
		case a.String() > b.String():
			return 1
		default:
			return 0
		}
	})
	return keys
}
