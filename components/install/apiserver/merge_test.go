// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	apiserverinstall "k8s.io/apiserver/pkg/apis/apiserver/install"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const otherHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"

// otherFile is the file of the hardening settings.
func otherFile(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../manifests/hardening/host/pod-security/admission.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mergeInto(t *testing.T, own string, other []byte) string {
	t.Helper()
	merged, err := MergeAdmission([]byte(own), other, "/etc/other/admission.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(merged)
}

// pluginsOf returns the sections by name. It fails for two sections of one plugin.
func pluginsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var config struct {
		Plugins []map[string]any `json:"plugins"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	sections := map[string]any{}
	for _, section := range config.Plugins {
		name, _ := section["name"].(string)
		if sections[name] != nil {
			t.Errorf("two sections of %s in\n%s", name, text)
		}
		sections[name] = section
	}
	return sections
}

func TestMergeKeepsAllPlugins(t *testing.T) {
	own := oursIn(t, manifests.Admission, "/b")
	merged := mergeInto(t, own, otherFile(t))
	want := pluginsOf(t, own)
	want["PodSecurity"] = pluginsOf(t, string(otherFile(t)))["PodSecurity"]
	if diff := cmp.Diff(want, pluginsOf(t, merged)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.HasPrefix(merged, "# Bulkhead's plugins, then those of /etc/other/admission.yaml.") {
		t.Errorf("it does not say what it is:\n%s", merged)
	}
}

// The server reads the merged file itself here, and gives each plugin its configuration.
func TestServerReadsAMergedFile(t *testing.T) {
	dir := t.TempDir()
	// A relative path is relative to the file that has it.
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "limits.yaml"), []byte("limits: 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	merged, err := MergeAdmission([]byte(oursIn(t, manifests.Admission, dir)),
		[]byte(otherHead+"- {name: EventRateLimit, path: limits.yaml}\n"+
			"- {name: Big, configuration: {a: 9007199254740993}}\n"),
		filepath.Join(other, "admission.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "admission.yaml")
	if err := os.WriteFile(file, merged, 0o600); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	apiserverinstall.Install(scheme)
	for name, want := range map[string]string{"EventRateLimit": "limits: 7", "Big": "9007199254740993",
		webhookPlugin: "staticManifestsDir", PolicyPlugin: "staticManifestsDir"} {
		provider, err := admission.ReadAdmissionConfiguration([]string{name}, file, scheme)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := provider.ConfigFor(name)
		if err != nil || reader == nil {
			t.Fatalf("%s: %v, %v", name, reader, err)
		}
		if text, err := io.ReadAll(reader); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s gets %s (%v), want %s", name, text, err, want)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	for _, tc := range []struct{ name, other, mentions string }{
		{"a section of Bulkhead's webhook plugin", otherHead + "- {name: ValidatingAdmissionWebhook}\n",
			"cannot keep the plugin ValidatingAdmissionWebhook of /etc/other.yaml"},
		{"a section of Bulkhead's policy plugin", otherHead + "- {name: ValidatingAdmissionPolicy}\n",
			"cannot keep the plugin ValidatingAdmissionPolicy"},
		{"another kind", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n",
			"AuthorizationConfiguration"},
		{"the form of old versions", "imagePolicy: {}\n", "cannot read /etc/other.yaml as an AdmissionConfiguration"},
		{"unknown field in a section", otherHead + "- {name: PodSecurity, configurations: {a: b}}\n", "unknown field"},
		{"duplicate key", otherHead + "- name: PodSecurity\n  path: a.yaml\n  path: b.yaml\n", `key "path" already set`},
		{"invalid YAML", "{", "cannot read /etc/other.yaml"},
		{"an empty file", "", "cannot read /etc/other.yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			merged, err := MergeAdmission([]byte(oursIn(t, manifests.Admission, "/b")), []byte(tc.other), "/etc/other.yaml")
			if merged != nil {
				t.Errorf("an error, and the file\n%s", merged)
			}
			if err == nil || !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v", err)
			}
			if names, err := OtherPlugins([]byte(tc.other), "/etc/other.yaml"); err == nil {
				t.Errorf("preflight passes it: %v", names)
			}
		})
	}
}

func TestOtherPluginsInEachVersion(t *testing.T) {
	for _, version := range []string{"apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"} {
		head := strings.Replace(otherHead, "apiserver.config.k8s.io/v1", version, 1)
		names, err := OtherPlugins([]byte(head+"- {name: A}\n- {name: NodeRestriction}\n"), "/f")
		if err != nil || !slices.Equal(names, []string{"A", "NodeRestriction"}) {
			t.Errorf("%s: %v, %v", version, names, err)
		}
	}
}
