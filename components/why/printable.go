// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"reflect"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// maxField bounds every string of an answer. No command is that long: see [roleOptions].
const maxField = 4 << 10

// makePrintable makes every string of the answer safe to print: users choose many of them.
func (a *Answer) makePrintable() { makePrintable(reflect.ValueOf(a)) }

func makePrintable(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(webhook.Printable(v.String(), maxField))
	case reflect.Pointer:
		if !v.IsNil() {
			makePrintable(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			makePrintable(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			makePrintable(v.Field(i))
		}
	default: // numbers and booleans
	}
}
