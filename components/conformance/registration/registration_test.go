// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package registration loads the webhook files that Bulkhead writes for kube-apiserver, with
// kube-apiserver's own loader and the validation of the API. If kube-apiserver rejected such a
// file, it would not start.
package registration

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/admission/plugin/webhook/manifest/loader"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const url = "url: https://127.0.0.1:10463/review\n"

func TestKubeAPIServerAcceptsRegistrations(t *testing.T) {
	for _, name := range []string{manifests.RegistrationHardened, manifests.RegistrationParity} {
		for _, tc := range []struct {
			name, old, new string
			ok             bool
		}{
			{"as it is", "", "", true},
			{"invalid operation", `"DELETE"]`, `"REMOVE"]`, false},
			{"with a name that is for the API", "static.k8s.io", "dev", false},
			{"with a service", url, "service: {name: a, namespace: b}\n", false},
		} {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				dir := t.TempDir()
				text := withBundle(t, name)
				if tc.old != "" {
					text = strings.Replace(text, tc.old, tc.new, 1)
				}
				if err := os.WriteFile(filepath.Join(dir, "node-restriction.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				result, err := loader.LoadValidatingManifests(dir)
				if (err == nil) != tc.ok {
					t.Fatalf("error is %v", err)
				}
				if tc.ok && (len(result.Configurations) != 1 || len(result.GetWebhookAccessors()) != 1) {
					t.Errorf(
						"it has %d configurations and %d webhooks",
						len(result.Configurations),
						len(result.GetWebhookAccessors()),
					)
				}
			})
		}
	}
}

// withBundle returns a registration as the installer writes it.
func withBundle(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	ca := pki.Pair{CertFile: filepath.Join(dir, "ca.crt"), KeyFile: filepath.Join(dir, "ca.key")}
	if _, err := pki.EnsureCA(ca, "test", time.Now()); err != nil {
		t.Fatal(err)
	}
	cert, err := os.ReadFile(ca.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	data, err := manifests.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(data), url, url+"      caBundle: "+base64.StdEncoding.EncodeToString(cert)+"\n", 1)
}
