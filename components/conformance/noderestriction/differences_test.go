// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// difference is one way in which ours is meant to answer differently.
type difference struct {
	name string
	// ids are the rules that ours refuses by in it, all of which docs/differences.md
	// names. Without any, every rule may.
	ids []rules.ID
	// documented is what the page's row says.
	documented string
	// explain makes of upstream's answer, or of what another difference has made of
	// it, the one that ours has to give. Where the case is another it changes nothing.
	explain func(*sides.Pair, *comparison, sides.Answer) sides.Answer
}

// differences are all that are known. One write may show several.
var differences = []difference{
	{
		name:       "resources, not kinds, are not found",
		ids:        []rules.ID{"NR-POD-2", "NR-POD-8", "NR-SA-2", "NR-SA-4", "NR-PCR-2", "NR-PCR-3", "NR-PCR-4"},
		documented: "`pods \"a\" not found`",
		explain:    inPlural,
	},
	{
		name:       "an internal error says so",
		ids:        []rules.ID{"NR-PCR-2", "NR-PCR-3", "NR-PCR-4"},
		documented: "the reason InternalError",
		explain:    asInternalError,
	},
	{
		name:       "the name is made up",
		documented: "the name that the API server made up",
		explain:    withName,
	},
	{
		name:       "types have other names",
		documented: "`unexpected type *v1.Pod`",
		explain:    withType,
	},
	{
		name:       "fields, not objects, are printed",
		ids:        []rules.ID{"NR-PVC-2"},
		documented: "names the fields",
		explain:    withFields,
	},
	{
		name:       "an object of another type",
		ids:        []rules.ID{"NR-CSINODE-1", "NR-CSR-1"},
		documented: "a CSINode or CertificateSigningRequest of another type",
		explain:    ofAnotherType,
	},
	{
		name:       "what is deleted",
		ids:        []rules.ID{"NR-POD-4"},
		documented: "goes by the pod that the API server is about to delete",
		explain:    byOldPod,
	},
	{
		name:       "an object of another name",
		ids:        []rules.ID{"NR-NODE-1"},
		documented: "whose own name is another one",
		explain:    ofAnotherName,
	},
	{
		name:       "volumes of two kinds",
		ids:        []rules.ID{"NR-POD-3"},
		documented: "a volume of several kinds",
		explain:    ofTwoKinds,
	},
	{
		name:       "the account by its old field",
		ids:        []rules.ID{"NR-POD-3"},
		documented: "`spec.serviceAccount`",
		explain:    byOldField,
	},
	{
		name:       "the API server's own audiences",
		ids:        []rules.ID{"NR-SA-4"},
		documented: "a request with exactly kube-apiserver's",
		explain:    forAPIAudiences,
	},
	{
		name:       "long certificate requests",
		ids:        []rules.ID{"NR-CSR-1"},
		documented: "more than 64 KiB",
		explain:    ofLongRequest,
	},
}

// explain is the answer that ours has to give, and what is different about it.
func explain(p *sides.Pair, c *comparison) (want sides.Answer, known []string) {
	want = c.upstream
	for i := range differences {
		d := &differences[i]
		if !c.ours.Admitted() && len(d.ids) > 0 && !slices.Contains(d.ids, c.ours.Rule) {
			continue
		}
		if next := d.explain(p, c, want); next != want {
			want, known = next, append(known, d.name)
		}
	}
	return want, known
}

var notFound = regexp.MustCompile(`\b(node|pod|serviceaccount|persistentvolumeclaim|persistentvolume|csidriver)((?:\.storage\.k8s\.io)?) ("[^"]*" not found)`)

// inPlural speaks as the API server does of what is not there.
func inPlural(_ *sides.Pair, _ *comparison, want sides.Answer) sides.Answer {
	want.Message = notFound.ReplaceAllString(want.Message, "${1}s$2 $3")
	return want
}

// asInternalError gives a plain error of a plugin the reason of a status.
func asInternalError(_ *sides.Pair, _ *comparison, want sides.Answer) sides.Answer {
	if want.Code == 500 && want.Reason == "" {
		want.Reason = "InternalError"
	}
	return want
}

var fields = regexp.MustCompile(`^(metadata|spec|status)\.[A-Za-z]+(, (metadata|spec|status)\.[A-Za-z]+)*$`)

// withFields takes the names of fields for upstream's comparison of two objects.
func withFields(_ *sides.Pair, c *comparison, want sides.Answer) sides.Answer {
	const text = "is not allowed to update fields other than status.quantity and status.conditions: "
	before, _, found := strings.Cut(want.Message, text)
	_, named, foundOurs := strings.Cut(c.message(), text)
	if found && foundOurs && fields.MatchString(named) {
		want.Message = before + text + named
	}
	return want
}
