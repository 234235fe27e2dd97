// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

const configHead = "apiVersion: bulkhead.dev/v1alpha1\nkind: Installation\n"

// recordOfEverything is what an installation with many flags has saved.
const recordOfEverything = `{"profile": "hardened", "image": "registry.example/bulkhead:v1", "version": "v1",
"certificates": {"validity": 172800000000000, "renewBefore": 86400000000000},
"beyondUpstream": {"mode": "audit", "ruleModes": {"NA-CSR-1": "off"}, "terminatedPodGrace": 60000000000,
"ignoreFailures": true, "denyUnknownResources": true, "auditFor": 172800000000000,
"credentialProviderTokens": true, "proxyFlags": {"authentication-token-webhook": "false",
"authorization-webhook-cache-authorized-ttl": "1m0s"}, "nodeSelector": "pool notin (edge,gpu)",
"loopbackClients": "allow"},
"kubeletAPI": true, "nodeScope": {"on": true, "customResources": "widgets.example.com=field:spec.node"}}`

// resolve returns the options of `bulkhead install` with these arguments on a host with this state.
func resolve(t *testing.T, state string, args ...string) (controlplane.Options, string, error) {
	t.Helper()
	var (
		flags installFlags
		out   bytes.Buffer
	)
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.add(fs)
	if err := fs.Parse(append([]string{"--state-dir=" + state}, args...)); err != nil {
		t.Fatal(err)
	}
	options, err := flags.resolve(fs, nil, &out)
	return options, out.String(), err
}

// stateOf returns a state directory with this record, or an empty one without a record.
func stateOf(t *testing.T, record string) string {
	t.Helper()
	state := t.TempDir()
	if record != "" {
		writeRecord(t, state, record)
	}
	return state
}

// resolveWith returns the options on a host with this record. It checks the error, and returns false if
// there is one.
func resolveWith(t *testing.T, record string, args []string, fails string) (controlplane.Options, bool) {
	t.Helper()
	options, _, err := resolve(t, stateOf(t, record), args...)
	if (err == nil) != (fails == "") || err != nil && err.Error() != fails {
		t.Errorf("error is %v, want %q", err, fails)
	}
	return options, err == nil
}

// installed returns the record in a layout, and the file that installs the same.
func installed(t *testing.T, layout host.Layout) (record *controlplane.Record, file string) {
	t.Helper()
	record, err := controlplane.ReadRecord(layout)
	if err != nil {
		t.Fatal(err)
	}
	config, err := installedConfig(layout, record)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := printConfig(&text, config); err != nil {
		t.Fatal(err)
	}
	return record, text.String()
}

// runConfig runs `bulkhead config` with these arguments, and returns its output.
func runConfig(args ...string) (string, error) {
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(append([]string{"config"}, args...))
	err := root.Execute()
	return out.String(), err
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bulkhead.yaml")
	if err := os.WriteFile(file, []byte(configHead+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestInstalledConfigInstallsTheSame(t *testing.T) {
	for _, tc := range []struct{ name, record, policy string }{
		{"settings of a first run", `{"profile": "hardened", "image": "registry.example/bulkhead:v1",
"certificates": {"validity": 7776000000000000, "renewBefore": 2592000000000000}}`, ""},
		{"every setting", recordOfEverything, ""},
		{"own node policy", `{"profile": "hardened", "image": "registry.example/bulkhead:v1", "kubeletAPI": true,
"policy": {"own": true}}`,
			"apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\nallowedLabels:   [a] # odd layout\n"},
		{"node policy that was edited in place", `{"profile": "hardened", "image": "registry.example/bulkhead:v1",
"policy": {"written": "0"}}`,
			"apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			layout := host.DefaultLayout()
			layout.State = stateOf(t, tc.record)
			if tc.policy != "" {
				if err := os.MkdirAll(filepath.Dir(layout.RestrictionPolicy()), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(layout.RestrictionPolicy(), []byte(tc.policy), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			record, text := installed(t, layout)
			if hash, err := configHash(layout, record); err != nil || hash != journal.Hash([]byte(text)) {
				t.Errorf("the hash is %q (%v), which is not that of the file", hash, err)
			}
			got, overridden, err := resolve(t, layout.State,
				"--config="+writeConfig(t, strings.TrimPrefix(text, configHead)))
			if err != nil || overridden != "" {
				t.Fatalf("%v, %s", err, overridden)
			}
			want, _, err := resolve(t, layout.State)
			if err != nil {
				t.Fatal(err)
			}
			checkSameInstallation(t, want, got, tc.policy)
		})
	}
}

// checkSameInstallation compares what a record keeps. With the file, the settings count as given by
// the user.
func checkSameInstallation(t *testing.T, want, got controlplane.Options, policy string) {
	t.Helper()
	if string(got.Policy.File) != policy || got.Policy.Own != (policy != "") {
		t.Errorf("the node policy is %+v, want %q", got.Policy, policy)
	}
	want.Policy, got.Policy = controlplane.Policy{}, controlplane.Policy{}
	want.ExtensionsSet, want.KubeletAPISaid = true, want.KubeletAPI != nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfigReplacesTheLastInstallation(t *testing.T) {
	got, _, err := resolve(t, stateOf(t, recordOfEverything), "--config="+writeConfig(t, "image: example.test/b:2\n"))
	if err != nil {
		t.Fatal(err)
	}
	yes, no, grace := true, false, defaultGrace
	want := controlplane.Options{Profile: controlplane.Hardened, Image: "example.test/b:2",
		Certificates:  controlPlaneCertificates,
		Extensions:    controlplane.Extensions{TerminatedPodGrace: &grace, CredentialProviderTokens: &no},
		Policy:        controlplane.Policy{Reset: true},
		ExtensionsSet: true, KubeletAPI: &yes, KubeletAPISaid: true, Timeout: defaultTimeout}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFlagsOverrideTheConfig(t *testing.T) {
	config := writeConfig(t, "profile: parity\nrules: {mode: audit}\n")
	got, said, err := resolve(t, t.TempDir(), "--config="+config, "--profile=hardened", "--cert-validity=48h")
	if err != nil {
		t.Fatal(err)
	}
	if got.Profile != controlplane.Hardened || got.Extensions.Mode != "audit" || got.Certificates.Validity.Hours() != 48 {
		t.Errorf("got %+v", got)
	}
	want := "--cert-validity=48h0m0s overrides the configuration, which has \"2160h0m0s\"\n" +
		"--profile=hardened overrides the configuration, which has \"parity\"\n"
	if said != want {
		t.Errorf("it printed %q, want %q", said, want)
	}
}

func TestInvalidConfigIsRejectedBeforeAnythingElse(t *testing.T) {
	for _, tc := range []struct{ name, config, want string }{
		{"certificates that end before they are renewed", writeConfig(t, "certificates: {validity: 240h}\n"),
			"line 3: certificates.validity: Invalid value: \"240h0m0s\": must be more than certificates.renewBefore"},
		{"unknown field", writeConfig(t, "imgae: a\n"), `line 3: unknown field "imgae"; did you mean "image"?`},
		{"no file", filepath.Join(t.TempDir(), "none.yaml"), "cannot read the configuration: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := resolve(t, t.TempDir(), "--config="+tc.config)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestConfigCommands(t *testing.T) {
	state := stateOf(t, recordOfEverything)
	same := "image: registry.example/bulkhead:v1\nauditFor: 48h\nrules: {mode: audit, modes: {NA-CSR-1: off}, " +
		"terminatedPodGrace: 1m, credentialProviderTokens: true, unknownResources: deny}\n" +
		"nodeRestriction: {failurePolicy: Ignore}\n" +
		"certificates: {validity: 48h, renewBefore: 24h}\nkubeletAPI: {" +
		"nodeSelector: \"pool notin (edge,gpu)\", loopbackClients: allow, authentication: {webhook: {enabled: false}}, " +
		"authorization: {webhook: {cacheAuthorizedTTL: 60s}}}\n" +
		"nodeScope: {enabled: true, customResources: [widgets.example.com=field:spec.node]}\n"
	withoutProxy := regexp.MustCompile("(?m)^kubeletAPI: .*$").ReplaceAllString(same, "kubeletAPI: {enabled: false}")
	for _, tc := range []struct {
		name, out, fails string
		args             []string
	}{
		{"validate a valid file", "valid\n", "", []string{"validate", writeConfig(t, "profile: parity\n")}},
		{"validate an invalid file", "", "line 3: profile: Unsupported value",
			[]string{"validate", writeConfig(t, "profile: x\n")}},
		{"diff of the same settings", "no difference\n", "", []string{"diff", "--state-dir=" + state, writeConfig(t, same)}},
		{"diff of another image", "image: \"registry.example/bulkhead:v1\" -> \"registry.example/bulkhead:v2\"\n",
			"1 field differs",
			[]string{"diff", "--state-dir=" + state, writeConfig(t, strings.Replace(same, "head:v1", "head:v2", 1))}},
		{"diff of another failure policy", "nodeRestriction.failurePolicy: \"Ignore\" -> \"Fail\"\n", "1 field differs",
			[]string{"diff", "--state-dir=" + state, writeConfig(t, strings.Replace(same, "Ignore", "Fail", 1))}},
		{"diff of kubelet-auth-proxy", "kubeletAPI.enabled: \"true\" -> \"false\"\n", "1 field differs",
			[]string{"diff", "--state-dir=" + state, writeConfig(t, withoutProxy)}},
		{"print a file without kubelet-auth-proxy: it stays valid", "valid\n", "",
			[]string{"validate", printed(t, writeConfig(t, "kubeletAPI: {enabled: false}\n"))}},
		{"diff of other loopback clients", "kubeletAPI.loopbackClients: \"allow\" -> \"deny\"\n", "1 field differs",
			[]string{"diff", "--state-dir=" + state,
				writeConfig(t, strings.Replace(same, "loopbackClients: allow, ", "", 1))}},
		{"print the file of profile in-tree", configHead + "profile: in-tree\n", "",
			[]string{"print", writeConfig(t, "profile: in-tree\n")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := runConfig(tc.args...)
			if out != tc.out {
				t.Errorf("it printed %q, want %q", out, tc.out)
			}
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, want %q", err, tc.fails)
			}
		})
	}
}

func TestPrintedDefaultsAreAValidFile(t *testing.T) {
	file := printed(t)
	got, _, err := resolve(t, t.TempDir(), "--config="+file)
	if err != nil || got.Profile != controlplane.Hardened || got.Extensions.Mode != "enforce" {
		t.Errorf("%+v, %v", got, err)
	}
}
