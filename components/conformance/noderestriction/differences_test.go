// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/subjects"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// difference is an intended difference between Bulkhead and upstream.
type difference struct {
	harness.Documented
	// explain changes the expected answer to the one that Bulkhead must give. want is upstream's
	// answer, possibly changed by other differences. If the case does not apply, explain returns
	// want.
	explain func(*subjects.Pair, *comparison, subjects.Answer) subjects.Answer
}

// differences are all known differences. One write may show several.
var differences = []difference{
	{
		Documented: harness.Documented{
			Name: "resources, not kinds, are not found",
			IDs:  []rules.ID{"NR-POD-2", "NR-POD-8", "NR-SA-2", "NR-SA-4", "NR-PCR-2", "NR-PCR-3", "NR-PCR-4"},
			Row:  "`pods \"a\" not found`",
		},
		explain: inPlural,
	},
	{
		Documented: harness.Documented{
			Name: "internal error is reported as such",
			IDs:  []rules.ID{"NR-PCR-2", "NR-PCR-3", "NR-PCR-4"},
			Row:  "the reason InternalError",
		},
		explain: asInternalError,
	},
	{
		Documented: harness.Documented{
			Name: "the name is made up",
			Row:  "the name that the API server made up",
		},
		explain: withName,
	},
	{
		Documented: harness.Documented{
			Name: "types have other names",
			Row:  "`unexpected type *v1.Pod`",
		},
		explain: withType,
	},
	{
		Documented: harness.Documented{
			Name: "fields, not objects, are printed",
			IDs:  []rules.ID{"NR-PVC-2"},
			Row:  "names the fields",
		},
		explain: withFields,
	},
	{
		Documented: harness.Documented{
			Name: "an object of another type",
			IDs:  []rules.ID{"NR-CSINODE-1", "NR-CSR-1"},
			Row:  "a CSINode or CertificateSigningRequest of another type",
		},
		explain: ofAnotherType,
	},
	{
		Documented: harness.Documented{
			Name: "deleted object",
			IDs:  []rules.ID{"NR-POD-4"},
			Row:  "goes by the pod that the API server is about to delete",
		},
		explain: byOldPod,
	},
	{
		Documented: harness.Documented{
			Name: "an object of another name",
			IDs:  []rules.ID{"NR-NODE-1"},
			Row:  "whose own name is another one",
		},
		explain: ofAnotherName,
	},
	{
		Documented: harness.Documented{
			Name: "volumes of two kinds",
			IDs:  []rules.ID{"NR-POD-3"},
			Row:  "a volume of several kinds",
		},
		explain: ofTwoKinds,
	},
	{
		Documented: harness.Documented{
			Name: "the account by its old field",
			IDs:  []rules.ID{"NR-POD-3"},
			Row:  "`spec.serviceAccount`",
		},
		explain: byOldField,
	},
	{
		Documented: harness.Documented{
			Name: "the API server's own audiences",
			IDs:  []rules.ID{"NR-SA-4"},
			Row:  "a request with exactly kube-apiserver's",
		},
		explain: forAPIAudiences,
	},
	{
		Documented: harness.Documented{
			Name: "long certificate requests",
			IDs:  []rules.ID{"NR-CSR-1"},
			Row:  "more than 64 KiB",
		},
		explain: ofLongRequest,
	},
}

// explain returns the answer that Bulkhead must give, and the names of the differences.
func explain(p *subjects.Pair, c *comparison) (want subjects.Answer, known []string) {
	want = c.upstream
	for i := range differences {
		d := &differences[i]
		if !c.bulkhead.Admitted() && len(d.IDs) > 0 && !slices.Contains(d.IDs, c.bulkhead.Rule) {
			continue
		}
		if next := d.explain(p, c, want); next != want {
			want, known = next, append(known, d.Name)
		}
	}
	return want, known
}

var notFound = regexp.MustCompile(
	`\b(node|pod|serviceaccount|persistentvolumeclaim|persistentvolume|csidriver)` +
		`((?:\.storage\.k8s\.io)?) ("[^"]*" not found)`,
)

// inPlural uses the API server's message for a missing object, which names the resource.
func inPlural(_ *subjects.Pair, _ *comparison, want subjects.Answer) subjects.Answer {
	want.Message = notFound.ReplaceAllString(want.Message, "${1}s$2 $3")
	return want
}

// asInternalError gives a plain error of a plugin the reason of a Status.
func asInternalError(_ *subjects.Pair, _ *comparison, want subjects.Answer) subjects.Answer {
	if want.Code == 500 && want.Reason == "" {
		want.Reason = "InternalError"
	}
	return want
}

var fields = regexp.MustCompile(`^(metadata|spec|status)\.[A-Za-z]+(, (metadata|spec|status)\.[A-Za-z]+)*$`)

// withFields replaces upstream's comparison of two objects by the names of the fields.
func withFields(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	const text = "is not allowed to update fields other than status.quantity and status.conditions: "
	before, _, found := strings.Cut(want.Message, text)
	_, named, foundHere := strings.Cut(c.message(), text)
	if found && foundHere && fields.MatchString(named) {
		want.Message = before + text + named
	}
	return want
}
