// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// oursIn returns one of Bulkhead's manifests, changed to name an existing directory.
func oursIn(t *testing.T, name, dir string) string {
	t.Helper()
	data, err := manifests.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "/etc/kubernetes/bulkhead/apiserver", dir)
}

func TestValidateAdmission(t *testing.T) {
	const target = "127.0.0.1:10463"
	for _, tc := range []struct{ name, file, old, new, mentions string }{
		{"rendered registration: valid", "admission.yaml", "", "", ""},
		{"a typing error is refused", "admission.yaml", "staticManifestsDir", "staticManifestDir", "staticManifestDir"},
		{"a directory that does not exist is refused", "admission.yaml", "/static", "/other", "unable to read"},
		{"a kubeconfig that does not exist is refused", "admission.yaml", "admission.kubeconfig", "other.kubeconfig",
			"other.kubeconfig"},
		{"a kubeconfig for another webhook is refused", "admission.kubeconfig", target, "127.0.0.1:1",
			"names no client certificate for " + target},
		{"a user without a certificate is refused", "admission.kubeconfig", "client-certificate:", "username:",
			"names no client certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"static", "static-policies"} {
				if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for file, name := range map[string]string{"admission.yaml": manifests.Admission,
				"admission.kubeconfig": manifests.AdmissionKubeconfig} {
				text := oursIn(t, name, dir)
				if file == tc.file {
					text = strings.ReplaceAll(text, tc.old, tc.new)
				}
				if tc.old == "" {
					text = oursIn(t, name, dir)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := ValidateAdmission(filepath.Join(dir, "admission.yaml"), target)
			if (err == nil) != (tc.mentions == "") || err != nil && !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// registered returns one of Bulkhead's registrations, as the installer writes it.
func registered(t *testing.T, name string) string {
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
	const url = "url: https://127.0.0.1:10463/review\n"
	return strings.Replace(oursIn(t, name, dir), url, url+"      caBundle: "+base64.StdEncoding.EncodeToString(cert)+"\n",
		1)
}

func TestRenderedRegistrationsAreValid(t *testing.T) {
	for _, name := range []string{manifests.RegistrationHardened, manifests.RegistrationParity} {
		if err := ValidateRegistration([]byte(registered(t, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateRegistrationRefuses(t *testing.T) {
	good := registered(t, manifests.RegistrationHardened)
	for _, tc := range []struct{ name, old, new, mentions string }{
		{"a field with a typing error", "failurePolicy", "failurePolicies", "failurePolicies"},
		{"a name without the suffix", "static.k8s.io", "dev", ".static.k8s.io"},
		{"a condition that does not compile", "request.userInfo.username.startsWith", "request.user.startsWith",
			"matchConditions"},
		{"invalid CA bundle", "caBundle: ", "caBundle: aGVsbG8= # ", "caBundle"},
		{"a webhook without TLS", "https://127", "http://127", "https URL"},
		{"side effects", "sideEffects: None", "sideEffects: Some", "sideEffects"},
		{"another kind", "kind: ValidatingWebhookConfiguration", "kind: MutatingWebhookConfiguration",
			"MutatingWebhookConfiguration"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			broken := strings.ReplaceAll(good, tc.old, tc.new)
			if err := ValidateRegistration([]byte(broken)); err == nil || !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestManifestsHash(t *testing.T) {
	dir := t.TempDir()
	if hash, err := ManifestsHash(filepath.Join(dir, "none")); hash != "" || err != nil {
		t.Errorf("of no directory it is %q (%v)", hash, err)
	}
	if hash, err := ManifestsHash(dir); hash != "" || err != nil {
		t.Errorf("of nothing it is %q (%v)", hash, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := ManifestsHash(dir)
	if err != nil || !strings.HasPrefix(first, "sha256:") {
		t.Errorf("it is %q (%v)", first, err)
	}
}
