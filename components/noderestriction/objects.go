// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// typed is an object of one type. A nil pointer of that type is no object, so that a rule
// may use what it gets.
func typed[T any](o runtime.Object) (object *T, ok bool) {
	object, ok = any(o).(*T)
	return object, ok && object != nil
}

// withoutNils are attributes without nil pointers for objects.
type withoutNils struct{ admission.Attributes }

func (a withoutNils) GetObject() runtime.Object { return present(a.Attributes.GetObject()) }

// present is the object, or none for a nil pointer.
func present(o runtime.Object) runtime.Object {
	if o == nil {
		return nil
	}
	if v := reflect.ValueOf(o); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return o
}

// unexpected refuses an object that is not of the type that belongs to the
// resource, or is not there.
func (q *request) unexpected(r rules.Rule, o runtime.Object) *rules.Decision {
	return q.forbid(r, fmt.Sprintf("unexpected type %T", present(o)))
}

// notFoundOr refuses because another object could not be read: with its 404 if it
// does not exist, else with 403 and the text.
func (q *request) notFoundOr(r rules.Rule, err error, text string) *rules.Decision {
	if apierrors.IsNotFound(err) {
		return q.raw(r, err)
	}
	return q.forbid(r, text)
}
