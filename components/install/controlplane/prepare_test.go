// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

func TestAPreparedHostCanJoinAndBeInstalled(t *testing.T) {
	onHost(t, "before the join", func(t *testing.T, h *testHost) {
		must(t, os.Remove(h.layout.APIServerManifest()))
		must(t, os.Rename(h.layout.KubePKI, h.layout.KubePKI+".later")) // the join creates it
		must(t, h.installer().Prepare(t.Context(), options(Hardened)))
		var got []string
		entries, err := os.ReadDir(h.layout.APIServer())
		must(t, err)
		for _, entry := range entries {
			got = append(got, entry.Name())
		}
		// These are the files that authorization.yaml and its kubeconfig name.
		want := []string{"admission.kubeconfig", "admission.yaml", "authorization.yaml", "node-authorizer-ca.crt",
			"node-authorizer-client.crt", "node-authorizer-client.key", "node-authorizer.kubeconfig", "static",
			"static-policies"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		must(t, apiserver.ValidateAuthorization(read(t, h.layout.AuthorizationConfig())))
		first := h.snapshot()
		must(t, h.installer().Prepare(t.Context(), options(Hardened)))
		h.mustBe(first)

		must(t, os.Rename(h.layout.KubePKI+".later", h.layout.KubePKI))
		h.join()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if same, err := apiserver.Equal(h.original, read(t, h.layout.APIServerManifest())); err != nil || !same {
			t.Errorf("after the uninstallation the manifest is (%v):\n%s", err, read(t, h.layout.APIServerManifest()))
		}
	})
}

// join writes the manifest as kubeadm does when its ConfigMap names Bulkhead's file.
func (h *testHost) join() { h.joinWith(Record{Profile: Hardened}) }

// joinWith is join to hosts with this record.
func (h *testHost) joinWith(others Record) {
	h.t.Helper()
	wired, err := apiserver.Wire(h.original, wiring(h.layout, others, nil, nil), apiserver.KubeadmDefault)
	must(h.t, err)
	rendered := regexp.MustCompile(`(?m)^    bulkhead.dev/.*\n`).ReplaceAllString(string(wired), "")
	must(h.t, os.WriteFile(h.layout.APIServerManifest(), []byte(rendered), 0o600))
}

func TestPrepareRefuses(t *testing.T) {
	onHost(t, "a host with an API server", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		mentions(t, h.installer().Prepare(t.Context(), options(Hardened)), "run `bulkhead install`")
		h.mustBe(before)
	})
	onHost(t, "a profile without us", func(t *testing.T, h *testHost) {
		mentions(t, h.installer().Prepare(t.Context(), options(InTree)), "nothing prepared")
	})
	onHost(t, "a relative path of the other admission file", func(t *testing.T, h *testHost) {
		must(t, os.Remove(h.layout.APIServerManifest()))
		o, before := options(Hardened), h.snapshot()
		o.AdmissionConfigFile = "admission.yaml"
		mentions(t, h.installer().Prepare(t.Context(), o), "--admission-control-config-file=admission.yaml: the path is "+
			"relative")
		h.mustBe(before)
	})
	onHost(t, "a host with an interrupted installation of an earlier life", func(t *testing.T, h *testHost) {
		h.begin(options(Hardened))
		must(t, os.Remove(h.layout.APIServerManifest()))
		mentions(t, h.installer().Prepare(t.Context(), options(Hardened)), "earlier life")
	})
	onHost(t, "half an authority, and leaves nothing else", func(t *testing.T, h *testHost) {
		must(t, os.Remove(h.layout.APIServerManifest()))
		must(t, os.MkdirAll(h.layout.PKI(), 0o700))
		must(t, os.WriteFile(h.layout.CA().KeyFile, nil, 0o600))
		before := h.snapshot()
		mentions(t, h.installer().Prepare(t.Context(), options(Hardened)), "rolled back")
		h.mustBe(before)
	})
}

func TestPrepareRecoversFromAKilledPrepare(t *testing.T) {
	onHost(t, "killed after the authorization file was written", func(t *testing.T, h *testHost) {
		must(t, os.Remove(h.layout.APIServerManifest()))
		j, err := h.installer().transaction(time.Minute).Begin(prepareOperation)
		must(t, err)
		must(t, j.NewDir(h.layout.APIServer(), 0o700, atomicfile.KeepOwner))
		_, err = j.WriteFile(h.layout.AuthorizationConfig(), atomicfile.Private([]byte("half of one")))
		must(t, err)
		must(t, h.installer().Prepare(t.Context(), options(Hardened)))
		must(t, apiserver.ValidateAuthorization(read(t, h.layout.AuthorizationConfig())))
	})
}

func TestRenewerKeepsPreparedCertificates(t *testing.T) {
	onHost(t, "with its own CA", func(t *testing.T, h *testHost) {
		must(t, os.Remove(h.layout.APIServerManifest()))
		must(t, h.installer().Prepare(t.Context(), options(Hardened)))
		cert := filepath.Join(h.layout.APIServer(), "node-authorizer-client.crt")
		before := read(t, cert)
		h.join()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if diff := cmp.Diff(string(before), string(read(t, cert))); diff != "" {
			t.Errorf("install made a new one for nothing:\n%s", diff)
		}
		_, err := pki.ReadNotAfter(cert)
		must(t, err)
	})
}
