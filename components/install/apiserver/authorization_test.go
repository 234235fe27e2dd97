// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// authorizationFile returns a manifest that names an existing kubeconfig.
func authorizationFile(t *testing.T, name string) string {
	t.Helper()
	config, err := manifests.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := manifests.FS.ReadFile(manifests.NodeAuthorizerKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node-authorizer.kubeconfig"), kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(config), "/etc/kubernetes/bulkhead/apiserver", dir)
}

func TestRenderedAuthorizationFilesPassAPIServerValidation(t *testing.T) {
	for _, name := range []string{manifests.AuthorizationHardened, manifests.AuthorizationParity} {
		if err := ValidateAuthorization([]byte(authorizationFile(t, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateAuthorizationRefuses(t *testing.T) {
	good := authorizationFile(t, manifests.AuthorizationHardened)
	for _, tc := range []struct{ name, old, new, mentions string }{
		{"a field with a typing error", "failurePolicy", "failurePolicies", "failurePolicies"},
		{"a condition that does not compile", "has(request.user)", "has(request.usr)", "usr"},
		{"a kubeconfig that does not exist", "node-authorizer.kubeconfig", "other.kubeconfig", "other.kubeconfig"},
		{"an in-tree authorizer under another name", "name: rbac", "name: rights", `named "rights"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			broken := strings.ReplaceAll(good, tc.old, tc.new)
			if err := ValidateAuthorization([]byte(broken)); err == nil || !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
