// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"os"
	"path/filepath"
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

func TestKubeletCAProblem(t *testing.T) {
	layout := newCA(t)
	own, other := readFile(t, layout.KubeCA().CertFile), readFile(t, newCA(t).KubeCA().CertFile)
	for _, tc := range []struct {
		name string
		// file is the content. If it is empty, the file does not exist.
		file     string
		mentions string
	}{
		{"the cluster's CA", own, ""},
		{"another CA, then the cluster's: other bytes", "# both\n" + other + own, ""},
		{"another CA of the same name", other, "it does not contain the cluster's CA. Bulkhead keeps the flag"},
		{"another CA: the remedy is named", other, "append the certificate in " + layout.KubeCA().CertFile},
		{"missing file", "", "cannot read it on this host: open "},
		{"missing file: the remedy is named", "", "Restore the file"},
		{"file without a certificate", "no certificate", "cannot read it on this host: error reading "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubelets.crt")
			if tc.file != "" {
				installtest.Must(t, os.WriteFile(file, []byte(tc.file), 0o600))
			}
			problem := LocalHost{Layout: layout}.KubeletCAProblem(file)
			if (problem == "") != (tc.mentions == "") || !strings.Contains(problem, tc.mentions) {
				t.Errorf("got %q, want %q in it", problem, tc.mentions)
			}
		})
	}
	if problem := (LocalHost{Layout: layout}).KubeletCAProblem(""); !strings.Contains(problem, "not on a volume") {
		t.Errorf("no volume: got %q", problem)
	}
	installtest.Must(t, os.Remove(layout.KubeCA().CertFile))
	file := filepath.Join(t.TempDir(), "kubelets.crt")
	installtest.Must(t, os.WriteFile(file, []byte(own), 0o600))
	if problem := (LocalHost{Layout: layout}).KubeletCAProblem(file); !strings.Contains(problem, "cannot compare it") {
		t.Errorf("no CA of the cluster: got %q", problem)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	installtest.Must(t, err)
	return string(data)
}
