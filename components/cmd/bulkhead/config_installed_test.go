// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// TestInstalledConfigLeavesOutWhatHasNoEffect: a record keeps settings of the kubelets' API after the user
// gives it up. A file with these settings is invalid.
func TestInstalledConfigLeavesOutWhatHasNoEffect(t *testing.T) {
	const kubelets = `"beyondUpstream": {"extendTokens": true, "proxyFlags": {"client-crl-expired": "allow"},
"nodeSelector": "pool=edge", "loopbackClients": "allow"}`
	for _, tc := range []struct{ name, record, want string }{
		{"hardened without the kubelets' API", `{"profile": "hardened", "image": "a", "kubeletAPI": false, ` + kubelets + `}`,
			"profile: hardened\nimage: a\nkubeletAPI:\n  enabled: false\nserviceAccountTokens:\n  extendExpiration: true\n"},
		{"parity", `{"profile": "parity", "image": "a", "kubeletAPI": true, ` + kubelets + `}`,
			"profile: parity\nimage: a\n"},
		{"parity without the kubelets' API", `{"profile": "parity", "image": "a", "kubeletAPI": false, ` + kubelets + `}`,
			"profile: parity\nimage: a\nkubeletAPI:\n  enabled: false\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			layout := host.DefaultLayout()
			layout.State = stateOf(t, tc.record)
			if _, text := installed(t, layout); text != configHead+tc.want {
				t.Errorf("got:\n%s", text)
			}
			_, said, err := resolve(t, layout.State, "--config="+writeConfig(t, tc.want))
			if err != nil || said != "" {
				t.Errorf("the file is not what is installed: %v, %s", err, said)
			}
		})
	}
}

func TestInstallReportsWhatTheConfigChanges(t *testing.T) {
	const audit = `{"profile": "hardened", "image": "a", "beyondUpstream": {"auditOnly": true}}`
	for _, tc := range []struct{ name, record, file, want string }{
		{"file that has lost mode audit", audit, "image: a\n", "the configuration changes what is installed on this host:\n" +
			"  kubeletAPI.authentication.x509.expiredRevocationLists: \"allow\" -> \"refuse\"\n" +
			"  kubeletAPI.loopbackClients: \"allow\" -> \"deny\"\n  mode: \"audit\" -> \"enforce\"\n"},
		{"same settings", audit, "image: a\nmode: audit\ntimeout: 5m\n", ""},
		{"nothing installed", "", "image: a\n", ""},
		{"installation that cannot be read", `{"profile": "hardened", "image": "a", "policy": {"own": true}}`, "image: a\n",
			"cannot compare the configuration with what is installed on this host: cannot read node-restriction's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, said, err := resolve(t, stateOf(t, tc.record), "--config="+writeConfig(t, tc.file))
			if err != nil || !strings.HasPrefix(said, tc.want) || tc.want == "" && said != "" {
				t.Errorf("error %v; it printed %q, want %q", err, said, tc.want)
			}
		})
	}
}

// TestFlagsOverrideDefaultsOfTheConfig: on a first run, some flags without a value in the file are not set.
func TestFlagsOverrideDefaultsOfTheConfig(t *testing.T) {
	got, said, err := resolve(t, t.TempDir(), "--config="+writeConfig(t, "image: a\n"), "--kubelet-api=false",
		"--terminated-pod-grace=1m", "--credential-provider-tokens")
	if err != nil || got.KubeletAPI == nil || *got.KubeletAPI {
		t.Errorf("error %v, kubelet API %v", err, got.KubeletAPI)
	}
	want := "--credential-provider-tokens=true overrides the configuration, which has \"false\"\n" +
		"--kubelet-api=false overrides the configuration, which has \"true\"\n" +
		"--terminated-pod-grace=1m0s overrides the configuration, which has \"30s\"\n"
	if said != want {
		t.Errorf("it printed %q, want %q", said, want)
	}
	if got, _, err = resolve(t, t.TempDir(), "--config="+writeConfig(t, "image: a\n")); err != nil ||
		got.KubeletAPI != nil || got.Extensions.TerminatedPodGrace != nil || got.Extensions.CredentialProviderTokens != nil {
		t.Errorf("error %v; the defaults count as given: %+v", err, got)
	}
}

// TestPrintedNodePolicyIsTheDefault: appended to a file, it changes nothing.
func TestPrintedNodePolicyIsTheDefault(t *testing.T) {
	text, err := runConfig("print", "--node-policy")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nnodePolicy:\n  apiVersion: ", "\n  # A node may set only these labels"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	config, err := readConfig(writeConfig(t, "profile: hardened\n"+text), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Policy()
	if err != nil {
		t.Fatal(err)
	}
	want, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsePolicy(t, want), parsePolicy(t, got)); diff != "" {
		t.Errorf("-default +printed:\n%s", diff)
	}
	if text, err := runConfig("print", "--node-policy", writeConfig(t, "profile: parity\n")); err == nil || text != "" ||
		!strings.Contains(err.Error(), "it has none by default") {
		t.Errorf("profile parity: error %v, output %q", err, text)
	}
}

// parsePolicy returns the fields of a policy.
func parsePolicy(t *testing.T, policy []byte) map[string]any {
	t.Helper()
	if _, err := configuration.Parse(policy); err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(policy, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// printed returns a file with the output of `bulkhead config print`.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := runConfig(append([]string{"print"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return writeConfig(t, strings.TrimPrefix(out, configHead))
}
