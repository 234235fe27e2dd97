// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// TestSignerProblemSuggestsOnlyWorkingOptions: without the CA's key, the message must not offer another way to
// install.
func TestSignerProblemSuggestsOnlyWorkingOptions(t *testing.T) {
	layout := newCA(t)
	local := LocalHost{Layout: layout}
	if problem := local.SignerProblem(); problem != "" {
		t.Errorf("a CA with its key: %s", problem)
	}
	installtest.Must(t, os.Remove(layout.KubeCA().KeyFile))
	problem := local.SignerProblem()
	if !strings.Contains(problem, "put the CA's certificate and key there") || strings.Contains(problem, "yourself") {
		t.Errorf("it says %q", problem)
	}
}

// newCA creates the files of a CA in a new directory.
func newCA(t *testing.T) host.Layout {
	t.Helper()
	layout := host.Layout{KubePKI: t.TempDir()}
	_, err := pki.EnsureCA(layout.KubeCA(), "kubernetes", time.Now())
	installtest.Must(t, err)
	return layout
}

func TestCAThatCannotSignFails(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spoil    func(ca, other pki.Pair) error
		mentions string
	}{
		{"ca.key of another CA: fails",
			func(ca, other pki.Pair) error { return os.Rename(other.KeyFile, ca.KeyFile) },
			"private key does not match public key"},
		{"ca.crt of another CA: fails",
			func(ca, other pki.Pair) error { return os.Rename(other.CertFile, ca.CertFile) },
			"private key does not match public key"},
		{"truncated ca.crt: fails", func(ca, _ pki.Pair) error { return os.Truncate(ca.CertFile, 100) },
			"failed to find any PEM data in certificate input"},
		{"empty ca.key: fails", func(ca, _ pki.Pair) error { return os.Truncate(ca.KeyFile, 0) },
			"failed to find any PEM data in key input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			layout := newCA(t)
			installtest.Must(t, tc.spoil(layout.KubeCA(), newCA(t).KubeCA()))
			findings := hostFindings(LocalHost{Layout: layout})
			if !Failed(findings) {
				t.Error("preflight passes")
			}
			for _, text := range []string{tc.mentions, layout.KubeCA().CertFile, layout.KubeCA().KeyFile,
				"Put the cluster's CA certificate and the key that belongs to it there"} {
				if !strings.Contains(findings[0].Detail, text) {
					t.Errorf("it says %q, want %q in it", findings[0].Detail, text)
				}
			}
		})
	}
}
