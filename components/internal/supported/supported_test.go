// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package supported

import (
	"os"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestSupport(t *testing.T) {
	for _, tt := range []struct {
		version        string
		tested, tooOld bool
	}{
		{"v1.33.9", false, true},
		{"v1.34.0", false, false},
		{"v1.36.9", false, false},
		{"v1.37.0", true, false},
		{"v1.37.9-gke.1", true, false},
		{"v1.38.0", false, false},
		{"v2.37.0", false, false},
	} {
		v := version.MustParseGeneric(tt.version)
		if IsTested(v) != tt.tested || IsTooOld(v) != tt.tooOld {
			t.Errorf("%s: tested %v, too old %v", tt.version, IsTested(v), IsTooOld(v))
		}
	}
}

// The suites run on the version of the node image.
func TestVersionOfTheNodeImageIsTested(t *testing.T) {
	source, err := os.ReadFile("../../../kind/node-image/inputs.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`KubernetesVersion = "(v[0-9.]+)"`).FindSubmatch(source)
	if found == nil {
		t.Fatal("kind/node-image/inputs.go has no KubernetesVersion")
	}
	if v := version.MustParseGeneric(string(found[1])); !IsTested(v) {
		t.Errorf("the node image has %s, and the tested versions are %s", v, TestedText())
	}
}

func TestTestedCannotBeChangedFromOutside(t *testing.T) {
	Tested()[0] = "0.0"
	if Tested()[0] == "0.0" {
		t.Error("Tested returns the list itself")
	}
}
