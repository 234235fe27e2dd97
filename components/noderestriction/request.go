// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// request is one write of a node, with what the rules have found about it so far.
type request struct {
	admission.Attributes
	// node is the name of the node that writes.
	node string
	// exempted says which of the [Exemptable] rules do not bind who writes; nil if all do.
	exempted func(rules.ID) bool
	// configuration is the operator's policy, nil if there is none.
	configuration *configuration.Configuration
	// findings, warnings and annotations are those of the decision.
	findings    []rules.Finding
	warnings    []string
	annotations map[string]string
}

// decision is what the caller is told: nil denies nothing.
func (q *request) decision(denied *rules.Decision) rules.Decision {
	d := rules.Decision{Effect: rules.Allow}
	if denied != nil {
		d = *denied
	}
	d.Findings, d.Warnings, d.Annotations = q.findings, q.warnings, q.annotations
	return d
}

// forbid denies with 403, in the form of upstream: the resource, its name, the text, and
// then the rule.
func (q *request) forbid(r rules.Rule, text string) *rules.Decision {
	d := &rules.Decision{Rule: r.ID, Message: text}
	var forbidden *apierrors.StatusError
	if errors.As(admission.NewForbidden(withoutNils{q.Attributes}, errors.New(r.Reason(text))), &forbidden) {
		d.Status = &forbidden.ErrStatus
	}
	return d
}

// raw denies with the status of an error that is one of the API's: a 404 stays a
// 404. Any other error becomes a 500 with its text, which a kubelet tries again.
func (q *request) raw(r rules.Rule, err error) *rules.Decision {
	var status metav1.Status
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	} else {
		status = apierrors.NewInternalError(err).ErrStatus
		// Not "Internal error occurred: " before a text that says what happened.
		status.Message = err.Error()
	}
	text := status.Message
	status.Message = r.Reason(text)
	return &rules.Decision{Rule: r.ID, Message: text, Status: &status}
}

// audit reports a rule that would have denied.
func (q *request) audit(denied *rules.Decision) {
	q.findings = append(q.findings, rules.Finding{Rule: denied.Rule, Message: denied.Message})
}

// annotate puts keys in the audit event, after those that are there. The name is
// without a prefix.
func (q *request) annotate(name string, keys []string) {
	value := someOf(keys)
	if q.annotations == nil {
		q.annotations = map[string]string{}
	}
	if before := q.annotations[name]; before != "" {
		value = before + ", " + value
	}
	q.annotations[name] = value
}

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

// shownKeys is how many keys a refusal names: a node may send 100,000.
const shownKeys = 10

// someOf names keys for a refusal, in order, and only so many.
func someOf(keys []string) string {
	slices.Sort(keys)
	if more := len(keys) - shownKeys; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:shownKeys], ", "), more)
	}
	return strings.Join(keys, ", ")
}
