// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// TestObjectsAreCopies: a caller that changes an object does not change what the next caller gets.
func TestObjectsAreCopies(t *testing.T) {
	changed, err := Manifest(manifests.KubeletPolicy)
	if err != nil {
		t.Fatal(err)
	}
	name := changed[0].GetName()
	changed[0].SetName("changed")
	if again, err := Manifest(manifests.KubeletPolicy); err != nil || again[0].GetName() != name {
		t.Errorf("error %v; the second read returns %q, want %q", err, again[0].GetName(), name)
	}
}

// TestRegistrationHasTheBundleOfThisCall: the CA bundle of an earlier call must not stay.
func TestRegistrationHasTheBundleOfThisCall(t *testing.T) {
	bundles := func(bundle string) (got []string) {
		object, err := Registration(manifests.RegistrationHardened, []byte(bundle))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range object.Object["webhooks"].([]any) {
			got = append(got, w.(map[string]any)["clientConfig"].(map[string]any)["caBundle"].(string))
		}
		return got
	}
	first, second := bundles("a"), bundles("b")
	if diff := cmp.Diff([]string{"YQ==", "Yg=="}, []string{first[0], second[0]}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
