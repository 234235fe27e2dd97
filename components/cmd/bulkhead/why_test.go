// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
)

func TestWhy(t *testing.T) {
	for _, row := range []struct {
		name, message string
		want          []string
	}{
		{
			"a denial of the in-tree plugin",
			`Error from server (Forbidden): nodes "a" is forbidden: node "b" is not allowed to modify node "a"`,
			[]string{"Rule:        NR-NODE-1", "Kubernetes' own NodeRestriction plugin"},
		},
		{
			"a denial by an optional rule",
			`nodes "a" is forbidden: node "a" is not allowed to modify providerID [NR-NODESPEC-2]`,
			[]string{"Rule:        NR-NODESPEC-2", "Denied by:   Bulkhead", "--rule-mode=NR-NODESPEC-2=audit"},
		},
		{
			"two rules, one of them twice",
			`pods "p" is forbidden: no [NS-ADMIT-1] [NR-POD-6] [NS-ADMIT-1]`,
			[]string{"Rule:        NS-ADMIT-1", "Rule:        NR-POD-6"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out strings.Builder
			if err := explain(&out, row.message); err != nil {
				t.Fatal(err)
			}
			for _, want := range row.want {
				if strings.Count(out.String(), want) != 1 {
					t.Errorf("want %q once in\n%s", want, out.String())
				}
			}
		})
	}
}

func TestWhyWithoutARule(t *testing.T) {
	var out strings.Builder
	rbac := `secrets "s" is forbidden: User "u" cannot get resource "secrets" in API group "" in the namespace "n"`
	if err := explain(&out, rbac); !errors.Is(err, errNoRule) || out.Len() > 0 {
		t.Errorf("a denial of RBAC: got %v and %q", err, out.String())
	}
	if err := explain(&out, "denied [NR-NODE-999]"); err == nil || errors.Is(err, errNoRule) {
		t.Errorf("a rule of another version: got %v", err)
	}
}
