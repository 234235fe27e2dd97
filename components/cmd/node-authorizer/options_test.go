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
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// The static pod manifest uses only flags that exist. The flags that it leaves out have the
// defaults that the static pod needs.
func TestStaticPodStartsTheProgram(t *testing.T) {
	pod := programtest.StaticPod(t, manifests.NodeAuthorizerStaticPod)
	const dir = "/etc/kubernetes/bulkhead/node-authorizer/"
	want := &config{
		kubeconfig: dir + "kubeconfig",
		mode:       nodeauthorizer.Strict,
		features:   nodeauthorizer.DefaultFeatures(),
		limits:     webhook.Limits{InFlight: 2000, InFlightPerNode: 200},
		maxViewAge: 5 * time.Minute,
		extensions: extensions{modes: nodeauthorizer.Modes(rules.Enforce), grace: 30 * time.Second},

		readVersion: true,
		server: serve.Config{
			BindAddress: "127.0.0.1", SecurePort: 10461, HealthPort: 10462,
			CertFile: dir + "serving.crt", KeyFile: dir + "serving.key", ClientCAFile: dir + "client-ca.crt",
			AllowedClientNames: []string{"bulkhead:kube-apiserver"}, ShutdownTimeout: 10 * time.Second,
		},
	}
	// No flags at all give the same configuration as the flags of the static pod.
	for _, args := range [][]string{pod.Spec.Containers[0].Command[1:], nil} {
		got, err := parse(args...)
		if err != nil {
			t.Fatal(err)
		}
		want.logging = got.logging
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{}, extensions{})); diff != "" {
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

func TestModeAndGates(t *testing.T) {
	got, err := parse("--mode=compat", "--feature-gates=CSIVolumeHealth=true,PodCertificateRequest=false")
	if err != nil {
		t.Fatal(err)
	}
	want := nodeauthorizer.DefaultFeatures()
	want.CSIVolumeHealth, want.PodCertificateRequest = true, false
	if got.mode != nodeauthorizer.Compat || got.features != want {
		t.Errorf("mode %v, features %+v", got.mode, got.features)
	}
}

func TestVersionIsReadOnlyIfItMatters(t *testing.T) {
	for args, want := range map[string]bool{
		"--mode=strict": true, "--unknown-resources=audit-on-newer-kubernetes": true,
		"--mode=compat": false, "--unknown-resources=deny": false,
	} {
		got, err := parse(args)
		if err != nil || got.readVersion != want {
			t.Errorf("%s: got %+v, %v; want %v", args, got, err, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*options)
		want   []string
	}{
		{"the defaults have none", func(*options) {}, nil},
		{"a mode has to be known", func(o *options) { o.mode = "off" }, []string{`--mode is "off", want strict or compat`}},
		{"empty mode: rejected", func(o *options) { o.mode = "" }, []string{`--mode is "", want strict or compat`}},
		{"unknown resources are denied: accepted", func(o *options) { o.unknown = "deny" }, nil},
		{"unknown resources are allowed: rejected", func(o *options) { o.unknown = "allow" },
			[]string{`--unknown-resources is "allow", want deny or audit-on-newer-kubernetes`}},
		{"a gate has to be known", func(o *options) { o.gates["Podcertificaterequest"] = true },
			[]string{`--feature-gates: unknown gate "Podcertificaterequest", want [CSIVolumeHealth ClusterTrustBundle ` +
				`KubeletServiceAccountTokenForCredentialProviders PodCertificateRequest]`}},
		{"only loopback is bound", func(o *options) { o.BindAddress = "0.0.0.0" },
			[]string{`--bind-address is "0.0.0.0", want a loopback address`}},
		{"ports differ", func(o *options) { o.HealthPort = o.SecurePort },
			[]string{"--secure-port and --health-port are both 10461"}},
		{"ports are in range", func(o *options) { o.SecurePort, o.HealthPort = 0, 65536 },
			[]string{"--secure-port is 0, want 1 to 65535", "--health-port is 65536, want 1 to 65535"}},
		{"some client is served", func(o *options) { o.AllowedClientNames = nil },
			[]string{"--allowed-client-names is [], want names"}},
		{"a client has a name", func(o *options) { o.AllowedClientNames = []string{""} },
			[]string{`--allowed-client-names is [""], want names`}},
		{"per-node share above the total: rejected", func(o *options) { o.Limits.InFlight = 199 },
			[]string{"--max-requests-in-flight is 199, less than one node's share of 200"}},
		{"a view has to be able to stay fresh", func(o *options) { o.maxViewAge = 10*time.Second - 1 },
			[]string{"--max-view-age is 9.999999999s, want at least 10s"}},
		{"node scope is on where it is configured", func(o *options) { o.scope.custom = "a.example.com=label:x" },
			[]string{"--node-scope-custom-resources is given without --node-scope"}},
		{"custom resources can be read", func(o *options) { o.scope = scopeOptions{on: true, custom: "pods=field:x"} },
			[]string{`--node-scope-custom-resources: custom resources of nodes: "pods=field:x": ` +
				`the resource is not a custom one`}},
		{"every problem is reported", func(o *options) {
			*o = options{Options: program.Options{Limits: webhook.Limits{InFlight: -1}, Logging: o.Logging}}
		}, []string{
			"--kubeconfig is empty", `--bind-address is "", want a loopback address`,
			"--secure-port is 0, want 1 to 65535", "--health-port is 0, want 1 to 65535",
			"--secure-port and --health-port are both 0",
			"--tls-cert-file is empty", "--tls-private-key-file is empty", "--client-ca-file is empty",
			"--allowed-client-names is [], want names", "--shutdown-timeout is 0s, want more than 0",
			"--max-requests-in-flight-per-node is 0, want at least 1",
			"--max-requests-in-flight is -1, less than one node's share of 0",
			`--mode is "", want strict or compat`, `--unknown-resources is "", want deny or audit-on-newer-kubernetes`,
			"--max-view-age is 0s, want at least 10s",
			`--beyond-upstream: invalid mode "": use off, audit or enforce`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := defaultOptions()
			tt.change(o)
			var got []string
			for _, problem := range o.validate() {
				got = append(got, problem.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
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
		"Logging flags:", "--mode string", "--rule-mode", "NA-CSR-1=audit"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
	if strings.Contains(help.String(), "[Alpha]") {
		t.Error("help shows flags that nobody needs")
	}
}
