// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// with returns kubeadm's manifest with additional flags.
func with(t *testing.T, flags ...string) *Manifest {
	t.Helper()
	lines := ""
	for _, flag := range flags {
		lines += "    - " + flag + "\n"
	}
	m, err := Parse([]byte(kubeadm(t, "    - --secure-port=6443\n", lines)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAudiences(t *testing.T) {
	const issuer = "https://kubernetes.default.svc.cluster.local"
	for _, tc := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"no flag: the issuer", nil, []string{issuer}},
		{"several issuers: all issuers", []string{"--service-account-issuer=https://old"}, []string{"https://old", issuer}},
		{"--api-audiences: its values", []string{"--api-audiences=a,b"}, []string{"a", "b"}},
		{"--api-audiences repeated: all values", []string{"--api-audiences=a", "--api-audiences=b"},
			[]string{"a", "b"}},
		{"--api-audiences empty: the issuer", []string{"--api-audiences="}, []string{issuer}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, with(t, tc.flags...).Audiences()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadsManifests(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		flags         []string
		want          bool
	}{
		{"1.37 does", "v1.37.1", nil, true},
		{"1.38 does", "v1.38.0-alpha.1", nil, true},
		{"1.36 does not", "v1.36.9", nil, false},
		{"1.36 does with the gate on", "v1.36.9", []string{"--feature-gates=ManifestBasedAdmissionControlConfig=true"}, true},
		{"1.36 does with all alpha gates on", "v1.36.9", []string{"--feature-gates=AllAlpha=true"}, true},
		{"1.35 has no such gate", "v1.35.0", []string{"--feature-gates=ManifestBasedAdmissionControlConfig=true"}, false},
		{"1.37 does not with the gate off", "v1.37.1",
			[]string{"--feature-gates=X=true,ManifestBasedAdmissionControlConfig=false"}, false},
		{"1.37 does not with the gate off by its component", "v1.37.1",
			[]string{"--feature-gates=kube:ManifestBasedAdmissionControlConfig=false"}, false},
		{"1.37 does not with all beta gates off", "v1.37.1", []string{"--feature-gates=AllBeta=false"}, false},
		{"the gate itself comes before all beta gates", "v1.37.1",
			[]string{"--feature-gates=AllBeta=false,ManifestBasedAdmissionControlConfig=true"}, true},
		{"1.37 that emulates 1.36 does not", "v1.37.1", []string{"--emulated-version=kube=1.36"}, false},
		{"1.37 that emulates 1.37 does", "v1.37.1", []string{"--emulated-version=1.37"}, true},
		{"invalid version: not supported", "devel", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := with(t, tc.flags...).ReadsManifests(tc.version); got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}
