// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// server returns the manifest of the running API server. It is needed at every poll, so it is
// parsed only once.
func (h *testHost) server() *apiserver.Manifest {
	if h.parsed == nil || !bytes.Equal(h.parsedOf, h.manifest) {
		m, err := apiserver.Parse(h.manifest)
		must(h.t, err)
		h.parsed, h.parsedOf = m, h.manifest
	}
	return h.parsed
}

func (h *testHost) wired() bool {
	m := h.server()
	return m.Wired(h.layout.AuthorizationConfig())
}

func (h *testHost) Ready(ctx context.Context) error {
	if err := h.request(ctx); err != nil {
		return err
	}
	h.kubelet()
	if h.serverStuck && h.wired() {
		return errors.New("connection refused")
	}
	return nil
}

func (h *testHost) Process(ctx context.Context) (cluster.Process, error) {
	if err := h.request(ctx); err != nil {
		return cluster.Process{}, err
	}
	h.kubelet()
	p := cluster.Process{Start: strconv.Itoa(h.starts)}
	if h.wired() {
		config, err := os.ReadFile(h.layout.AuthorizationConfig())
		must(h.t, err)
		p.AuthorizationHash = journal.Hash(config)
	} else if bytes.Contains(h.manifest, []byte("--authorization-config=")) {
		p.AuthorizationHash = "somebody else's"
	}
	p.AdmissionHash = h.fromDisk()
	p.PolicyHash = h.policiesFromDisk()
	if h.skipped > 0 {
		p.Skipped = strconv.Itoa(h.skipped)
	}
	h.checkLeases()
	return p, nil
}

// fromDisk returns the hash by which the API server identifies its webhooks from disk.
func (h *testHost) fromDisk() string {
	m := h.server()
	if !m.AdmissionWired(h.layout.AdmissionConfig()) {
		return ""
	}
	// Validate only after a change, because policies compile slowly.
	if said := h.policiesFromDisk() + string(read(h.t, h.layout.AdmissionConfig())); h.validated != said {
		must(h.t, apiserver.ValidateAdmission(h.layout.AdmissionConfig(), host.RestrictionAddress))
		h.validated = said
	}
	if !bytes.Contains(read(h.t, h.layout.AdmissionConfig()), []byte("staticManifestsDir: "+h.layout.StaticManifests())) {
		return ""
	}
	hash, err := apiserver.ManifestsHash(h.layout.StaticManifests())
	must(h.t, err)
	return hash
}

// policiesFromDisk returns the same hash for its policies from disk.
func (h *testHost) policiesFromDisk() string {
	m := h.server()
	if !m.AdmissionWired(h.layout.AdmissionConfig()) ||
		!bytes.Contains(read(h.t, h.layout.AdmissionConfig()), []byte("staticManifestsDir: "+h.layout.StaticPolicies())) {
		return ""
	}
	hash, err := apiserver.ManifestsHash(h.layout.StaticPolicies())
	must(h.t, err)
	return hash
}
