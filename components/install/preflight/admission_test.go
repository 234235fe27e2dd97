// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
)

func TestForeignAdmissionFileIsReadOnTheHost(t *testing.T) {
	for _, tc := range []struct {
		name, flag, recorded string
		host                 fakeHost
		level                Level
		ends                 string
	}{
		{"before the installation", "/theirs.yaml", "", fakeHost{}, OK, "PodSecurity, of /theirs.yaml, at /host/theirs.yaml"},
		{"Bulkhead is installed", "/admission.yaml", "/theirs.yaml", fakeHost{}, OK,
			"/theirs.yaml: PodSecurity, of /theirs.yaml, at /host/theirs.yaml"},
		{"Bulkhead is installed, and cannot read it", "/admission.yaml", "/theirs.yaml", fakeHost{admission: "lost"}, Fail,
			"before Bulkhead: lost. Restore /theirs.yaml, or write an AdmissionConfiguration with `plugins: []` there"},
		{"Bulkhead is installed, and there is none", "/admission.yaml", "", fakeHost{admission: "lost"}, OK, "of Bulkhead"},
		{"Bulkhead is installed, and a user has replaced its name", "/new.yaml", "/theirs.yaml", fakeHost{}, OK,
			"PodSecurity, of /new.yaml, at /host/new.yaml"},
		{"without plugins", "/theirs.yaml", "", fakeHost{empty: true}, OK, "keep its plugins: none"},
		{"an empty flag", "", "", fakeHost{}, OK, "none yet"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := Input{Server: kubeadmFlags("admission-control-config-file", tc.flag), Host: tc.host,
				AdmissionConfig: "/admission.yaml", OtherAdmission: tc.recorded}
			if got := admissionConfig(in); got.Level != tc.level || !strings.HasSuffix(got.Detail, tc.ends) {
				t.Errorf("got %+v, want %s %s", got, tc.level, tc.ends)
			}
		})
	}
}

func TestAdmissionFileThatIsNotOnTheHost(t *testing.T) {
	_, err := LocalHost{}.AdmissionPlugins("/in/the/container.yaml", "")
	installtest.Mentions(t, err, "cannot read /in/the/container.yaml: it is not on a volume of the host")
}

func TestAdmissionPluginsOfTheHost(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	path := filepath.Join(t.TempDir(), "theirs.yaml")
	for _, tc := range []struct{ name, text, plugins, problem string }{
		{"a plugin that Bulkhead does not configure", head + "- {name: PodSecurity, path: p.yaml}\n", "PodSecurity", ""},
		{"one that it configures", head + "- {name: ValidatingAdmissionWebhook}\n", "", "ValidatingAdmissionWebhook"},
		{"no file", "", "", "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.text != "" {
				installtest.Must(t, os.WriteFile(path, []byte(tc.text), 0o600))
			} else {
				installtest.Must(t, os.Remove(path))
			}
			plugins, err := LocalHost{}.AdmissionPlugins("/in/the/container.yaml", path)
			if strings.Join(plugins, ",") != tc.plugins || (err != nil) != (tc.problem != "") {
				t.Fatalf("got %v, %v", plugins, err)
			}
			if err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("error %v does not mention %q", err, tc.problem)
			}
		})
	}
}
