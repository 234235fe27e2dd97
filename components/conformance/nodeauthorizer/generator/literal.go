// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Literal returns a value as Go code, without zero fields. It supports only the types in steps and
// requests.
func Literal(value any) string {
	var b strings.Builder
	writeLiteral(&b, reflect.ValueOf(value), true)
	return b.String()
}

// GoString returns the Go call that creates the step.
func (s Step) GoString() string {
	kind := kindLiterals[s.key.Kind]
	switch s.action {
	case breakWatch:
		return fmt.Sprintf("generator.Break(%s)", kind)
	case relist:
		return fmt.Sprintf("generator.Relist(%s)", kind)
	case remove:
		return fmt.Sprintf("generator.Delete(%s, %q, %q)", kind, s.key.Namespace, s.key.Name)
	default:
		return fmt.Sprintf("generator.Set(%s)", Literal(s.object))
	}
}

var kindLiterals = map[graph.Kind]string{
	graph.Pod:                   "graph.Pod",
	graph.PersistentVolume:      "graph.PersistentVolume",
	graph.VolumeAttachment:      "graph.VolumeAttachment",
	graph.ResourceSlice:         "graph.ResourceSlice",
	graph.PodCertificateRequest: "graph.PodCertificateRequest",
}

func writeLiteral(b *strings.Builder, v reflect.Value, named bool) {
	switch v.Kind() {
	case reflect.Interface:
		writeLiteral(b, v.Elem(), true)
	case reflect.Pointer:
		if err, isError := v.Interface().(error); isError {
			fmt.Fprintf(b, "errors.New(%q)", err)
			return
		}
		if name, isNode := nodeName(v.Interface()); isNode {
			fmt.Fprintf(b, "generator.Node(%q)", name)
			return
		}
		b.WriteString("&")
		writeLiteral(b, v.Elem(), true)
	case reflect.Struct:
		writeStruct(b, v, named)
	case reflect.Slice:
		writeSlice(b, v)
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func writeStruct(b *strings.Builder, v reflect.Value, named bool) {
	if named {
		b.WriteString(v.Type().String())
	}
	b.WriteString("{")
	separator := ""
	for i := range v.NumField() {
		if field := v.Field(i); !field.IsZero() {
			b.WriteString(separator + v.Type().Field(i).Name + ": ")
			writeLiteral(b, field, true)
			separator = ", "
		}
	}
	b.WriteString("}")
}

// writeSlice omits the element types, as gofmt -s does.
func writeSlice(b *strings.Builder, v reflect.Value) {
	b.WriteString(v.Type().String() + "{")
	for i := range v.Len() {
		if i > 0 {
			b.WriteString(", ")
		}
		writeLiteral(b, v.Index(i), false)
	}
	b.WriteString("}")
}

// nodeName reports whether the value is a [Node], and returns its name.
func nodeName(value any) (name string, is bool) {
	info, isUser := value.(*user.DefaultInfo)
	if !isUser {
		return "", false
	}
	name, is = strings.CutPrefix(info.Name, "system:node:")
	return name, is && reflect.DeepEqual(Node(name), user.Info(info))
}
