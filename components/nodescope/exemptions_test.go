// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestExemptions(t *testing.T) {
	const unknown = ": there is no such exemption: there are event-source, node-annotations, pod-annotations, taints, " +
		"uncordon"
	for _, tc := range []struct {
		value string
		lifts bool
		err   string
	}{
		{"", false, ""},
		{" ", false, ""},
		{"taints", true, ""},
		{"\ntaints , taints", true, ""},
		{"uncordon,node-annotations,pod-annotations,event-source", false, ""},
		{"uncordon,taints", true, ""},
		{"labels", false, `"labels"` + unknown},
		{"taints,labels", false, `"labels"` + unknown},
		{"taints,", false, `""` + unknown},
		{"Taints", false, `"Taints"` + unknown},
		{"tаints", false, `"tаints"` + unknown},
		{"*", false, `"*"` + unknown},
		{"NR-NODE-4", false, `"NR-NODE-4"` + unknown},
		{strings.Repeat("taints,", 40000), false, "longer than 8192 bytes"},
	} {
		t.Run(shortened(tc.value), func(t *testing.T) {
			e, err := ParseExemptions(tc.value)
			text := ""
			if err != nil {
				text = strings.TrimPrefix(err.Error(), ExemptionsAnnotation+": ")
			}
			if text != tc.err || e == nil || e.Lifts("NR-NODE-4") != tc.lifts {
				t.Errorf("got %v, %q", e, text)
			}
			if e.Lifts("NR-NODE-1") || e.Lifts("") {
				t.Error("more is lifted than what was named")
			}
		})
	}
	var none *Exemptions
	if none.Lifts("NR-NODE-4") {
		t.Error("no exemptions lift a rule")
	}
}

func TestExemptionsLiftRulesThatThereAre(t *testing.T) {
	for name, lifted := range lifts {
		for _, id := range lifted {
			if _, ok := rules.Find(noderestriction.Rules, id); !ok {
				t.Errorf("%s lifts %s, which is no rule", name, id)
			}
		}
	}
}

// Each name lifts rules of its own, and the list of all of them is in order.
func TestEveryExemptionLiftsItsOwn(t *testing.T) {
	for name, want := range map[Exemption]rules.ID{
		Taints: "NR-NODE-4", Uncordon: "NR-CORDON-1", NodeAnnotations: "NR-ANNOTATION-1", PodAnnotations: "NR-PODMETA-1",
		EventSource: "NR-EVENT-1",
	} {
		e, err := ParseExemptions(string(name))
		if err != nil {
			t.Error(err)
		}
		for _, id := range Lifted() {
			if e.Lifts(id) != (id == want) {
				t.Errorf("%s lifts %s: %v", name, id, e.Lifts(id))
			}
		}
	}
	if all := Lifted(); !slices.IsSorted(all) || len(all) != len(lifts) {
		t.Errorf("lifted are %v", all)
	}
}
