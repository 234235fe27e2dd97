// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const dir = "/etc/kubernetes/bulkhead/node-restriction/"

// The flags of the installed static pod exist, and its values match the defaults. Flags that the
// static pod omits keep their defaults.
func TestStaticPodStartsTheProgram(t *testing.T) {
	pod := programtest.StaticPod(t, "node-restriction/static-pod.yaml")
	want := &config{
		kubeconfig:   dir + "kubeconfig",
		apiAudiences: []string{"https://kubernetes.default.svc.cluster.local"},
		features:     noderestriction.DefaultFeatures(),
		modes:        noderestriction.Modes(rules.Enforce),
		limits:       webhook.Limits{InFlight: 2000, InFlightPerNode: 100},
		server: serve.Config{
			BindAddress: "127.0.0.1", SecurePort: 10463, HealthPort: 10464,
			CertFile: dir + "serving.crt", KeyFile: dir + "serving.key", ClientCAFile: dir + "client-ca.crt",
			AllowedClientNames: []string{"bulkhead:kube-apiserver"}, ShutdownTimeout: 10 * time.Second,
		},
	}
	// A start without flags gives the same configuration as the static pod.
	for _, args := range [][]string{pod.Spec.Containers[0].Command[1:], nil} {
		got, err := parse(args...)
		if err != nil {
			t.Fatal(err)
		}
		want.logging = got.logging
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{})); diff != "" {
			t.Errorf("%v (-want +got)\n%s", args, diff)
		}
	}
	grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
	if grace <= want.server.ShutdownTimeout {
		t.Errorf("the kubelet kills after %v, before the %v of --shutdown-timeout are over", grace,
			want.server.ShutdownTimeout)
	}
}

// parse returns the configuration with which the program would run.
func parse(args ...string) (*config, error) { return programtest.Parse(newCommand, args...) }

func TestDeciding(t *testing.T) {
	got, err := parse(
		"--config=/policy.yaml", "--api-audiences=a,b", "--feature-gates=CSIVolumeHealth=true,PodCertificateRequest=false",
		"--beyond-upstream=audit", "--rule-mode=NR-EVENT-1=off",
	)
	if err != nil {
		t.Fatal(err)
	}
	features, modes := noderestriction.DefaultFeatures(), noderestriction.Modes(rules.Audit)
	features.CSIVolumeHealth, features.PodCertificateRequest = true, false
	modes["NR-EVENT-1"] = rules.Off
	want := &config{policyFile: "/policy.yaml", apiAudiences: []string{"a", "b"}, features: features, modes: modes}
	got = &config{policyFile: got.policyFile, apiAudiences: got.apiAudiences, features: got.features, modes: got.modes}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*options)
		want   []string
	}{
		{"the defaults have none", func(*options) {}, nil},
		{"no policy file: accepted", func(o *options) { o.policyFile = "" }, nil},
		{"a gate has to be known", func(o *options) { o.gates["Podcertificaterequest"] = true },
			[]string{`--feature-gates: unknown gate "Podcertificaterequest", want [` +
				`AllowInsecureKubeletCertificateSigningRequests CSIVolumeHealth PodCertificateRequest ` +
				`RecoverVolumeExpansionFailure ServiceAccountNodeAudienceRestriction]`}},
		{"the API server has audiences", func(o *options) { o.apiAudiences = nil },
			[]string{"--api-audiences is [], want audiences"}},
		{"an audience has a name", func(o *options) { o.apiAudiences = []string{"a", ""} },
			[]string{`--api-audiences is ["a" ""], want audiences`}},
		{"a rule of upstream is always enforced", func(o *options) { o.extensions.RuleModes["NR-SA-1"] = "off" },
			[]string{"--rule-mode: NR-SA-1 is always enforced; you can set the mode of: "}},
		{"every problem is reported",
			func(o *options) { *o = options{Options: program.Options{BindAddress: "0.0.0.0", Logging: o.Logging}} }, []string{
				"--kubeconfig is empty", `--bind-address is "0.0.0.0", want a loopback address`,
				"--secure-port is 0, want 1 to 65535", "--health-port is 0, want 1 to 65535",
				"--secure-port and --health-port are both 0",
				"--tls-cert-file is empty", "--tls-private-key-file is empty", "--client-ca-file is empty",
				"--allowed-client-names is [], want names", "--shutdown-timeout is 0s, want more than 0",
				"--max-requests-in-flight-per-node is 0, want at least 1", "--api-audiences is [], want audiences",
				`--beyond-upstream: invalid mode "": use off, audit or enforce`,
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := defaultOptions()
			tt.change(o)
			problems := o.validate()
			for i, problem := range problems {
				if i >= len(tt.want) || !strings.HasPrefix(problem.Error(), tt.want[i]) {
					t.Errorf("problem %d: %v", i, problem)
				}
			}
			if len(problems) != len(tt.want) {
				t.Errorf("%d problems, want %d", len(problems), len(tt.want))
			}
		})
	}
}

func TestHelpCanBeRead(t *testing.T) {
	command := newCommand(nil)
	var help bytes.Buffer
	command.SetOut(&help)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(help.String()) {
		if len(line) > program.HelpColumns+1 {
			t.Errorf("line is too long: %s", line)
		}
	}
	for _, want := range []string{"Deciding flags:", "Beyond upstream flags:", "Serving flags:", "Limits flags:",
		"Logging flags:", "--config string", "--api-audiences", "at path /review", "NR-EVENT-1=audit"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
}

// The example in --help is valid.
func TestTheExampleOfRuleModesWorks(t *testing.T) {
	if _, err := parse("--rule-mode=NR-EVENT-1=audit,NR-EVENT-2=off"); err != nil {
		t.Error(err)
	}
}
