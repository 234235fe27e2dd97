// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// attacks is the number of attacks in the catalogue: T1 to T25.
const attacks = 25

// severalDifferences are the attempts whose twin must differ from the attack in more than one field. The specs of the
// twins find all others.
var severalDifferences = map[string][]string{
	"T1": {"tainting another node"},
	"T4": {"requesting a token of a cluster administrator"},
	"T5": {"cordoning another node and deleting its pod"},
	"T7": {"creating a pod that mounts a secret", "creating a pod that mounts a config map",
		"creating a pod of a stronger account", "creating a pod that names a resource claim"},
	"T20": {"certificate signing requests of all nodes", "deleting all pods of a namespace"},
	"T25": {"impersonating a user in system:masters"},
}

// TestTwinWithSeveralDifferencesSaysWhy checks that each of them says why, in one sentence.
func TestTwinWithSeveralDifferencesSaysWhy(t *testing.T) {
	found := 0
	for _, s := range stories {
		for _, a := range s.Attempts {
			if slices.Contains(severalDifferences[s.ID], a.Name) {
				found++
				if a.TwinAlso == "" {
					t.Errorf("%s %q: the twin differs in more than one field, and TwinAlso does not say why", s.ID, a.Name)
				}
			}
			also := a.TwinAlso
			if also != "" && (sentence(also) != also || strings.Contains(also, ". ")) {
				t.Errorf("%s %q: TwinAlso is not one sentence: %s", s.ID, a.Name, also)
			}
			if also != "" && !strings.HasSuffix(a.TwinIs, ". "+also) {
				t.Errorf("%s %q: docs/attacks.md does not get the sentence in TwinAlso", s.ID, a.Name)
			}
		}
	}
	if want := len(slices.Concat(slices.Collect(maps.Values(severalDifferences))...)); found != want {
		t.Errorf("%d of %d attempts of the list were found", found, want)
	}
}

func TestThereAreTwoChains(t *testing.T) {
	if ids := slices.Sorted(maps.Keys(chains)); !slices.Equal(ids, []string{"C1", "C2"}) {
		t.Errorf("the chains are %v", ids)
	}
}

func TestDifferencesOfTwin(t *testing.T) {
	pod := func(name string) Request { return Get(api.Pods).In("ns").Named(name) }
	list := List(api.Secrets)
	made := func(name, app, image string) Request {
		return Create(api.Pods).In("ns").With(fields{"metadata": fields{"name": name, "labels": fields{"app": app}},
			"spec": fields{"image": image}})
	}
	lease := func(name, second string) Request {
		return Patch(api.Leases).Named(name).With(spec("renewTime", "2026-01-01T00:00:0"+second+".000000Z"))
	}
	for _, test := range []struct {
		name         string
		attack, twin Request
		want         string
	}{
		{"the same request", pod("a"), pod("a"), ""},
		{"a dry run", pod("a").Stored(), pod("a"), ""},
		{"another pod", pod("a"), pod("b"), "object"},
		{"another pod of another namespace", pod("a"), pod("b").In("other"), "object"},
		{"another verb and pod", pod("a"), Delete(api.Pods).In("ns").Named("b"), "verb, object"},
		{"another resource", pod("a"), Get(api.Secrets).In("ns").Named("a"), "resource"},
		{"a subresource of another pod", pod("a"), pod("b").Sub("status"), "subresource, object"},
		{"another path", GetPath("/a"), GetPath("/b"), "path"},
		{"one secret instead of all", list, list.In("ns").Where("metadata.name=a"), "object"},
		{"the secrets of one namespace, with a selector", list, list.In("ns").Where("type=Opaque"), "object, selector"},
		{"another node in the selector", list.Where("a=b,metadata.name=c"), list.Where("metadata.name=c,a=d"), "selector"},
		{"a new pod with another name", made("a", "x", "y"), made("b", "x", "y"), ""},
		{"a new pod with another label", made("a", "x", "y"), made("b", "z", "y"), "metadata in the body"},
		{"a new pod with another label and image", made("a", "x", "y"), made("b", "z", "w"),
			"metadata in the body, spec in the body"},
		{"a patch of another object, which names it", Patch(api.CSINodes).Named("a").With(spec("id", "a")),
			Patch(api.CSINodes).Named("b").With(spec("id", "b")), "object"},
		{"another patch of another object", Patch(api.Nodes).Named("a").With(spec("taints", "a")),
			Patch(api.Nodes).Named("b").With(labels("a", "b")), "object, body"},
		{"a patch with another time", lease("a", "1"), lease("a", "2"), ""},
	} {
		if got := strings.Join(differences(test.attack, test.twin), ", "); got != test.want {
			t.Errorf("%s: differences in %q, want %q", test.name, got, test.want)
		}
	}
}

// TestEveryAttackHasAStory fails while an attack lacks a story, or a story lacks an attempt, a twin or
// an unprotected success.
func TestEveryAttackHasAStory(t *testing.T) {
	for n := 1; n <= attacks; n++ {
		id := fmt.Sprintf("T%d", n)
		at := slices.IndexFunc(stories, func(s Story) bool { return s.ID == id })
		if at < 0 {
			t.Errorf("%s has no story", id)
			continue
		}
		for _, what := range stories[at].missing() {
			t.Errorf("%s lacks %s", id, what)
		}
		for _, a := range stories[at].Attempts {
			if _, ok := rule(a.Rule); !ok {
				t.Errorf("%s: %s is not a rule", id, a.Rule)
			}
		}
		for _, file := range append(stories[at].Also, "e2e/attacks/"+stories[at].file()) {
			if _, err := os.Stat("../../" + file); err != nil {
				t.Errorf("%s names a file that does not exist: %v", id, err)
			}
		}
	}
}

// sorted returns the stories in the order of their numbers.
func sorted() []Story {
	number := func(s Story) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(s.ID, "T"))
		return n
	}
	return slices.SortedFunc(slices.Values(stories), func(a, b Story) int { return cmp.Compare(number(a), number(b)) })
}
