// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// nodeType is the type of fields that keep their YAML node, for a decoder of their own.
var nodeType = reflect.TypeFor[yaml.Node]()

// Decode writes the document to a struct with json tags. A field of type [yaml.Node] gets the node
// itself. Fields that are absent keep their value. Decode returns the line of each field, by its
// path, as in "rules.modes". The path of the document is "".
//
// It supports structs, maps with string keys, slices, pointers, strings, booleans, integers, and
// types that decode themselves from a JSON string, such as metav1.Duration.
func Decode(root *yaml.Node, into any) (lines map[string]int, err error) {
	d := decoder{lines: map[string]int{}}
	d.value(root, "", reflect.ValueOf(into).Elem())
	return d.lines, d.Err()
}

type decoder struct {
	Problems
	lines map[string]int
}

func (d *decoder) value(n *yaml.Node, path string, into reflect.Value) {
	d.lines[path] = n.Line
	if into.Type() == nodeType {
		into.Set(reflect.ValueOf(*n))
		return
	}
	if self, ok := into.Addr().Interface().(json.Unmarshaler); ok {
		d.self(n, path, self)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		d.value(n, path, target.Elem())
		into.Set(target)
	case reflect.Struct:
		d.object(n, path, into)
	case reflect.Map:
		d.dictionary(n, path, into)
	case reflect.Slice:
		d.list(n, path, into)
	default:
		d.scalar(n, path, into)
	}
}

// self lets a type decode itself.
func (d *decoder) self(n *yaml.Node, path string, into json.Unmarshaler) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.Add(n, "%s must be a string", path)
		return
	}
	// A string always has a JSON form.
	text, _ := json.Marshal(n.Value)
	if err := into.UnmarshalJSON(text); err != nil {
		d.Add(n, "%s is %q: %v", path, Shorten(n.Value), err)
	}
}

func (d *decoder) object(n *yaml.Node, path string, into reflect.Value) {
	fields := map[string]reflect.Value{}
	fieldsOf(into, fields)
	d.Mapping(n, path, func(key, value *yaml.Node) {
		field, known := fields[key.Value]
		if !known {
			d.Unknown(key, path, slices.Sorted(maps.Keys(fields)))
			return
		}
		d.value(value, Join(path, key.Value), field)
	})
}

// fieldsOf adds the fields of a struct by their JSON names. Embedded structs are inlined.
func fieldsOf(v reflect.Value, fields map[string]reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			fieldsOf(v.Field(i), fields)
		case name != "" && name != "-":
			fields[name] = v.Field(i)
		}
	}
}

func (d *decoder) dictionary(n *yaml.Node, path string, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	d.Mapping(n, path, func(key, value *yaml.Node) {
		element := reflect.New(into.Type().Elem()).Elem()
		// The path has the key as messages show it, which limits their length.
		d.value(value, Join(path, Shorten(key.Value)), element)
		into.SetMapIndex(reflect.ValueOf(key.Value).Convert(into.Type().Key()), element)
	})
}

func (d *decoder) list(n *yaml.Node, path string, into reflect.Value) {
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	index := 0
	d.List(n, path, func(element *yaml.Node, path string) {
		d.value(element, path, into.Index(index))
		index++
	})
}

func (d *decoder) scalar(n *yaml.Node, path string, into reflect.Value) {
	tag := ""
	if n.Kind == yaml.ScalarNode {
		tag = n.ShortTag()
	}
	switch kind := into.Kind(); {
	case kind == reflect.String && tag == "!!str":
		into.SetString(n.Value)
	case kind == reflect.String:
		d.Add(n, "%s must be a string; put it in quotes", path)
	case kind == reflect.Bool && tag == "!!bool":
		into.SetBool(strings.EqualFold(n.Value, "true"))
	case kind == reflect.Bool:
		d.Add(n, "%s must be true or false", path)
	case into.CanInt():
		value, err := strconv.ParseInt(n.Value, 10, into.Type().Bits())
		if tag != "!!int" || err != nil {
			d.Add(n, "%s must be an integer of at most %d bits, without quotes", path, into.Type().Bits())
			return
		}
		into.SetInt(value)
	default:
		// This is an error in the program, not in the file.
		panic(fmt.Sprintf("strictyaml does not support the type %s of %s", into.Type(), path))
	}
}
