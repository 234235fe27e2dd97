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
	in := Input{Server: kubeadmFlags("admission-control-config-file", "/theirs.yaml"), Host: fakeHost{},
		AdmissionConfig: "/admission.yaml"}
	got := admissionConfig(in)
	const want = "PodSecurity, of /theirs.yaml, at /host/theirs.yaml"
	if got.Level != OK || !strings.HasSuffix(got.Detail, want) {
		t.Errorf("got %+v, want %s", got, want)
	}
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
