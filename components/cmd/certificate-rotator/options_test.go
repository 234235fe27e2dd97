// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// parse returns the configuration with which the program would run.
func parse(args ...string) (*config, error) { return programtest.Parse(newCommand, args...) }

// The manifest of the static pod runs this program, with flags that exist. No flags at all give the
// same configuration.
func TestStaticPodStartsTheProgram(t *testing.T) {
	pod := programtest.StaticPod(t, manifests.CertsStaticPod)
	command := pod.Spec.Containers[0].Command
	if command[0] != "/certificate-rotator" {
		t.Errorf("the static pod runs %s", command[0])
	}
	want := options{
		layout: host.DefaultLayout(),
		policy: pki.Policy{Validity: 2160 * time.Hour, RenewBefore: 720 * time.Hour},
	}
	for _, args := range [][]string{command[1:], nil} {
		got, err := parse(args...)
		if err != nil {
			t.Fatal(err)
		}
		want.logging = got.logging
		if diff := cmp.Diff(want, got.options, cmp.AllowUnexported(options{})); diff != "" {
			t.Errorf("%v (-want +got)\n%s", args, diff)
		}
	}
}

func TestFlags(t *testing.T) {
	got, err := parse("--state-dir=/state", "--kubernetes-pki=/keys", "--cert-validity=2h", "--cert-renew-before=1h")
	if err != nil {
		t.Fatal(err)
	}
	if got.layout.State != "/state" || got.layout.KubePKI != "/keys" ||
		got.policy != (pki.Policy{Validity: 2 * time.Hour, RenewBefore: time.Hour}) {
		t.Errorf("configuration %+v", got)
	}
}

func TestInvalidFlags(t *testing.T) {
	for _, tc := range []struct{ flag, want string }{
		{"--state-dir=", `--state-dir is "", want an absolute path`},
		{"--kubernetes-pki=pki", `--kubernetes-pki is "pki", want an absolute path`},
		{"--cert-validity=1h", "--cert-renew-before has to be positive and less than --cert-validity"},
		{"--cert-renew-before=1m", "--cert-renew-before 1m0s: it has to be 6m0s at least"},
		{"--logging-format=xml", "logging: "},
		{"--watch", "unknown flag: --watch"},
		{"renew", `unknown command "renew"`},
	} {
		t.Run(tc.flag, func(t *testing.T) {
			if _, err := parse(tc.flag); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := parse("--state-dir=", "--kubernetes-pki="); strings.Count(err.Error(), "absolute path") != 2 {
		t.Errorf("not all errors are reported: %v", err)
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	command := newCommand(nil)
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Renews the certificates", "--cert-validity", "Certificates flags"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}
