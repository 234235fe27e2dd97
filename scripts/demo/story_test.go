// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

func TestStepsShowTheDifference(t *testing.T) {
	steps := story()
	if len(steps) < 6 || len(steps) > 8 {
		t.Errorf("%d steps", len(steps))
	}
	differ := 0
	titles := map[string]bool{}
	for _, s := range steps {
		if titles[s.title] {
			t.Errorf("two steps have the title %q", s.title)
		}
		titles[s.title] = true
		if s.inTree != allowed {
			t.Errorf("%s: the outcome on in-tree is %q; the demo is about what in-tree allows", s.title, s.inTree)
		}
		if s.hardened != allowed {
			differ++
		}
	}
	if differ < 6 || differ == len(steps) {
		t.Errorf("%d of %d steps differ: there must be six, and a twin that is allowed", differ, len(steps))
	}
}

func TestRulesOfTheStepsExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range story() {
		rule, denied := strings.CutPrefix(string(s.hardened), string(deniedBy("")))
		if denied && !strings.Contains(string(page), "**"+rule+"**") {
			t.Errorf("%s: docs/rules.md does not have %s", s.title, rule)
		}
	}
}

func TestWordsAndCommandsFitTheScreen(t *testing.T) {
	for _, s := range story() {
		if n := utf8.RuneCountInString(s.title); n > 36 {
			t.Errorf("%s: the title has %d columns, and the table has 36", s.title, n)
		}
		if n := len(wrap(s.words, width)); n > 3 {
			t.Errorf("%s: the words have %d lines", s.title, n)
		}
		for _, c := range s.commands {
			for _, line := range shown(c) {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s: a line has %d columns: %s", s.title, n, line)
				}
			}
		}
	}
}

func TestEveryObjectIsRemoved(t *testing.T) {
	for _, object := range parsed(t, objects) {
		switch {
		case object.Metadata.Namespace != "":
			if !slices.Contains([]string{"demo-shop", "demo-payments"}, object.Metadata.Namespace) {
				t.Errorf("%s %s is in namespace %s", object.Kind, object.Metadata.Name, object.Metadata.Namespace)
			}
		case object.Metadata.Labels[label] != "true":
			t.Errorf("%s %s does not have the label %s", object.Kind, object.Metadata.Name, label)
		case !slices.Contains([]string{"Namespace", "ClusterRole", "ClusterRoleBinding"}, object.Kind):
			t.Errorf("the demo does not remove a %s", object.Kind)
		}
	}
}

func TestStaticPodHasTheLabelOfTheService(t *testing.T) {
	pod := parsed(t, staticPod)[0]
	if pod.Metadata.Namespace != "demo-payments" || pod.Metadata.Labels["app"] != "payments" {
		t.Errorf("%+v", pod)
	}
}

type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
	}
}

func parsed(t *testing.T, text string) (all []object) {
	t.Helper()
	for documents := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		err := documents.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

func TestJudge(t *testing.T) {
	s := forgottenGrant()
	for _, tc := range []struct {
		name, output string
		want         outcome
	}{
		{"the secrets are listed", "NAME TYPE DATA AGE\ncard-key   Opaque   1      5s\n", allowed},
		{"a rule denies", "Error from server (Forbidden): No Object name found [NA-SECRET-2]\n", deniedBy("NA-SECRET-2")},
		{"another rule denies", "Forbidden [NA-LIMIT]\n", deniedBy("NA-LIMIT")},
		{"in-tree denies, without an ID", "Error from server (Forbidden): secrets is forbidden\n", unclear},
		{"it works although a rule is cited", "x [NA-SECRET-2]\ncard-key   Opaque   1      5s\n", allowed},
		{"no output", "", unclear},
		{"a list that is not an ID", "Groups [system:nodes system:authenticated]\n", unclear},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.judge(tc.output); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
