// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lean

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// read adds the field at the end of a path of Go field names. A name that ends in ! is required: a
// message without any of its required fields is dropped. read panics if there is no such field.
func (m *message) read(object any, path string, what *message) {
	m.readType(reflect.TypeOf(object), path, what)
}

func (m *message) readType(t reflect.Type, path string, what *message) {
	name, rest, goesOn := strings.Cut(path, ".")
	name, needed := strings.CutSuffix(name, "!")
	f, ok := elementOf(t).FieldByName(name)
	if !ok || len(f.Index) != 1 {
		panic(fmt.Sprintf("%v has no field %s", t, name))
	}
	number := numberOf(f)
	for len(m.fields) <= number {
		m.fields = append(m.fields, nil)
	}
	if needed {
		m.needs |= 1 << number
	}
	if !goesOn {
		m.fields[number] = what
		return
	}
	if m.fields[number] == nil {
		m.fields[number] = &message{}
	}
	m.fields[number].readType(f.Type, rest, what)
}

// elementOf returns the element type of a pointer or a slice.
func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// numberOf returns the field number from the tag: `protobuf:"bytes,1,opt,name=metadata"`.
func numberOf(f reflect.StructField) int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		panic(fmt.Sprintf("%s has no number", f.Name))
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil || number <= 0 || number > 63 {
		panic(fmt.Sprintf("%s has the number %s", f.Name, parts[1]))
	}
	return number
}
