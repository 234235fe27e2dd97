// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package supported lists the Kubernetes versions that Bulkhead supports.
package supported

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Oldest is the first minor version that always sends field selectors to authorizers
// (AuthorizeWithSelectors, GA in 1.34). Without them, an authorizer cannot distinguish "the pods of
// this node" from "all pods".
const Oldest = "1.34"

// tested are the minor versions on which all suites ran, and with whose rules Bulkhead's rules are
// compared.
var tested = []string{"1.37"}

// Tested returns the minor versions on which Bulkhead is tested, oldest first.
func Tested() []string { return slices.Clone(tested) }

// IsTested reports whether Bulkhead is tested on a version, whatever its patch is.
func IsTested(v *version.Version) bool {
	return slices.ContainsFunc(tested, func(minor string) bool {
		t := version.MustParseGeneric(minor)
		return t.Major() == v.Major() && t.Minor() == v.Minor()
	})
}

// IsTooOld reports whether a version is older than Oldest.
func IsTooOld(v *version.Version) bool { return v.LessThan(version.MustParseGeneric(Oldest)) }

// TestedText returns the tested versions for a sentence: "1.36, 1.37".
func TestedText() string { return strings.Join(tested, ", ") }
