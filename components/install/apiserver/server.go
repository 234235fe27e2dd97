// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Audiences returns the audiences of a token that names none: --api-audiences or, if that flag is
// not set, the issuers. Both flags may be repeated.
func (m *Manifest) Audiences() []string {
	var audiences []string
	for _, value := range m.values("api-audiences") {
		for audience := range strings.SplitSeq(value, ",") {
			audiences = append(audiences, strings.TrimSpace(audience))
		}
	}
	if audiences = slices.DeleteFunc(audiences, isEmpty); len(audiences) > 0 {
		return audiences
	}
	return slices.DeleteFunc(m.values("service-account-issuer"), isEmpty)
}

func isEmpty(text string) bool { return text == "" }

func (m *Manifest) values(flag string) []string {
	var values []string
	for _, arg := range m.Args() {
		if value, ok := strings.CutPrefix(arg, "--"+flag+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

// fromDisk is the feature gate of manifest-based admission (KEP-5793): alpha in 1.36, beta and
// enabled by default in 1.37.
const fromDisk = "ManifestBasedAdmissionControlConfig"

// ReadsManifests reports whether a server of this version, with these flags, reads admission
// webhooks from disk.
func (m *Manifest) ReadsManifests(serverVersion string) bool {
	if emulated := m.values("emulated-version"); len(emulated) > 0 {
		// The flag can be repeated. A value can be for another component.
		serverVersion = strings.TrimPrefix(emulated[len(emulated)-1], "kube=")
	}
	v, err := version.ParseGeneric(serverVersion)
	if err != nil || v.LessThan(version.MustParseGeneric("1.36.0")) {
		return false
	}
	beta := !v.LessThan(version.MustParseGeneric("1.37.0"))
	stage := "AllAlpha"
	if beta {
		stage = "AllBeta"
	}
	if on, said := m.Gate(fromDisk); said {
		return on
	}
	if on, said := m.Gate(stage); said {
		return on
	}
	return beta
}

// Gate returns the value of a feature gate in --feature-gates. said is false if the flag does not
// set the gate.
func (m *Manifest) Gate(name string) (on, said bool) {
	for _, value := range m.values("feature-gates") {
		for pair := range strings.SplitSeq(value, ",") {
			gate, is, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if strings.TrimPrefix(gate, "kube:") == name {
				on, said = strings.EqualFold(is, "true"), true
			}
		}
	}
	return on, said
}
