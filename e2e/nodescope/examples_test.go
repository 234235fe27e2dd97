// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// TestExamples needs no cluster. It checks that an owner can apply each example unchanged, and that
// the suite tests each one.
func TestExamples(t *testing.T) {
	files, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".yaml")
		t.Run(name, func(t *testing.T) {
			if !slices.ContainsFunc(useCases, func(u useCase) bool { return u.name == name }) {
				t.Error("no spec proves it")
			}
			e, err := exampleOf(name)
			if err != nil {
				t.Fatal(err)
			}
			checkExample(t, name, e)
		})
	}
	if len(files) != len(useCases) {
		t.Errorf("%d examples for %d use cases", len(files), len(useCases))
	}
}

func checkExample(t *testing.T, name string, e example) {
	t.Helper()
	if e.account.Name != name || e.role.Name != name || e.binding.RoleRef.Name != name || len(e.binding.Subjects) != 1 ||
		e.binding.Subjects[0].Name != name || e.binding.Subjects[0].Namespace != e.account.Namespace {
		t.Errorf("the names differ: %+v", e)
	}
	if _, err := nodescope.ParseExemptions(e.account.Annotations[nodescope.ExemptionsAnnotation]); err != nil {
		t.Error(err)
	}
	scope, err := nodescope.ParseScope(e.account.Annotations[nodescope.ScopeAnnotation])
	if err != nil || scope.IsEmpty() {
		t.Fatalf("the scope is empty: %v", err)
	}
	covered := false
	for _, rule := range e.role.Rules {
		for _, resource := range rule.Resources {
			main, sub, _ := strings.Cut(resource, "/")
			covered = covered || scope.Covers(nodescope.Resource{Group: rule.APIGroups[0], Resource: main, Subresource: sub})
		}
	}
	if !covered {
		t.Error("the scope covers no resource that RBAC grants")
	}
}
