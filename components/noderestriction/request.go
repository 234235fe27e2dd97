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

// request is one write of a node, with the findings of the rules so far.
type request struct {
	admission.Attributes
	// node is the name of the node that writes.
	node string
	// exempted says which of the [Exemptable] rules do not apply to the user. If it is nil, all
	// apply.
	exempted func(rules.ID) bool
	// auditOnly and modes are [Config].AuditOnly and [Config].Modes.
	auditOnly bool
	modes     map[rules.ID]rules.Mode
	// configuration is the operator's policy. It is nil if there is none.
	configuration *configuration.Configuration
	// row is the node's row in the machine table, once hasRow is true.
	row    *configuration.Machine
	hasRow bool
	// findings, warnings and annotations become those of the decision.
	findings    []rules.Finding
	warnings    []string
	annotations map[string]string
}

// decision returns the answer to the request. If denied is nil, the request is allowed.
func (q *request) decision(denied *rules.Decision) rules.Decision {
	d := rules.Decision{Effect: rules.Allow}
	if denied != nil {
		d = *denied
	}
	d.Findings, d.Warnings, d.Annotations = q.findings, q.warnings, q.annotations
	return d
}

// machine returns the node's row in the machine table, or nil. It searches the table once: a node can
// change thousands of labels in one request.
func (q *request) machine() *configuration.Machine {
	if !q.hasRow {
		q.row, q.hasRow = q.configuration.MachineFor(q.node), true
	}
	return q.row
}

// forbid denies with 403 in upstream's form: the resource, its name, the text, then the rule ID.
func (q *request) forbid(r rules.Rule, text string) *rules.Decision {
	d := &rules.Decision{Rule: r.ID, Message: text}
	var forbidden *apierrors.StatusError
	if errors.As(admission.NewForbidden(withoutNils{q.Attributes}, errors.New(r.Reason(text))), &forbidden) {
		d.Status = &forbidden.ErrStatus
	}
	return d
}

// raw denies with the status of an API error: a 404 stays a 404. Any other error becomes a 500 with
// its text, which a kubelet retries.
func (q *request) raw(r rules.Rule, err error) *rules.Decision {
	var status metav1.Status
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	} else {
		status = apierrors.NewInternalError(err).ErrStatus
		// The error text is clear without the prefix "Internal error occurred: ".
		status.Message = err.Error()
	}
	text := status.Message
	status.Message = r.Reason(text)
	return &rules.Decision{Rule: r.ID, Message: text, Status: &status}
}

// enforced returns the denial of a rule that is not optional. If the rule is only audited, it reports
// the denial and returns nil, so that the next check runs.
func (q *request) enforced(denied *rules.Decision) *rules.Decision {
	if denied == nil || q.modeOf(denied.Rule) == rules.Enforce {
		return denied
	}
	q.audit(denied)
	return nil
}

// modeOf returns the mode of a rule that is not optional.
func (q *request) modeOf(id rules.ID) rules.Mode {
	if mode, has := q.modes[id]; has {
		return mode
	}
	if q.auditOnly {
		return rules.Audit
	}
	return rules.Enforce
}

// audit reports a rule that would have denied the request.
func (q *request) audit(denied *rules.Decision) {
	q.findings = append(q.findings, rules.Finding{Rule: denied.Rule, Message: denied.Message})
}

// annotate adds keys to an annotation of the audit event. It keeps the keys that are already there.
// The name has no prefix.
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

// typed returns the object as a *T. ok is false for another type and for a nil pointer, so that a
// rule can use the object without a check.
func typed[T any](o runtime.Object) (object *T, ok bool) {
	object, ok = any(o).(*T)
	return object, ok && object != nil
}

// withoutNils are attributes that return nil instead of a nil pointer to an object.
type withoutNils struct{ admission.Attributes }

func (a withoutNils) GetObject() runtime.Object { return present(a.Attributes.GetObject()) }

// present returns the object, or nil for a nil pointer.
func present(o runtime.Object) runtime.Object {
	if o == nil {
		return nil
	}
	if v := reflect.ValueOf(o); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return o
}

// unexpected denies because the object is missing or is not of the resource's type.
func (q *request) unexpected(r rules.Rule, o runtime.Object) *rules.Decision {
	return q.forbid(r, fmt.Sprintf("unexpected type %T", present(o)))
}

// notFoundOr denies because another object could not be read. It answers 404 if that object does
// not exist, and otherwise 403 with the text.
func (q *request) notFoundOr(r rules.Rule, err error, text string) *rules.Decision {
	if apierrors.IsNotFound(err) {
		return q.raw(r, err)
	}
	return q.forbid(r, text)
}

// shownKeys is how many keys a message lists. A node may send 100,000 keys.
const shownKeys = 10

// someOf lists the first keys in order, at most shownKeys.
func someOf(keys []string) string {
	slices.Sort(keys)
	if more := len(keys) - shownKeys; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:shownKeys], ", "), more)
	}
	return strings.Join(keys, ", ")
}
