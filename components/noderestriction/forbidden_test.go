// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
)

// TestForbiddenAsTheLibraryDoes compares with what the API server's own plugins
// answer: we put the same together with fewer allocations.
func TestForbiddenAsTheLibraryDoes(t *testing.T) {
	pod := aPod("default", "mine", "me")
	for name, a := range map[string]admission.Attributes{
		"in the core group":       write("me", admission.Delete, "pods", "", nil, pod),
		"in another group":        write("me", admission.Update, "leases", "", nil, nil, named("me")),
		"a name to be quoted":     write("me", admission.Delete, "pods", "", nil, pod, named("a\"b\n\u00e4\x80")),
		"a long name":             write("me", admission.Delete, "pods", "", nil, pod, named(strings.Repeat("n", 1000))),
		"a name in the object":    write("me", admission.Create, "pods", "", pod, nil, named("")),
		"no name":                 write("me", admission.Delete, "pods", "", nil, nil),
		"no name and nil pointer": write("me", admission.Create, "pods", "", nothings()[0].object, nil),
		"no resource":             write("me", admission.Delete, "", "", nil, nil, named("x")),
	} {
		for _, text := range []string{"a text", ""} {
			q := &request{Attributes: a, node: "me"}
			var want *apierrors.StatusError
			if !errors.As(admission.NewForbidden(withoutNils{a}, errors.New(podMirror.Reason(text))), &want) {
				t.Fatalf("%s: the library does not answer with a status", name)
			}
			refused := q.forbid(podMirror, text)
			if diff := cmp.Diff(want.ErrStatus, refused.status.ErrStatus); diff != "" || refused.rule != podMirror {
				t.Errorf("%s, %q (-library +ours):\n%s", name, text, diff)
			}
		}
	}
}
