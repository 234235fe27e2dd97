// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"path/filepath"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
)

// snapshot returns every file of the host with its content and mode, except the lock, and the API
// objects.
func (h *testHost) snapshot() map[string]string {
	h.t.Helper()
	all := installtest.Files(h.t, filepath.Dir(h.layout.State), h.layout.Lock)
	all["kubeadm-config"], all["annotations"] = h.kubeadm, fmt.Sprint(h.annotations)
	entries, err := hosts.Entries(h.t.Context(), h.configs)
	must(h.t, err)
	all["hosts"], all["leases"] = fmt.Sprint(entries), fmt.Sprint(h.leases.Names())
	for name, object := range h.objects {
		content, err := essence(object)
		must(h.t, err)
		all[name] = string(content)
	}
	return all
}

// mustBe compares the host with an earlier snapshot.
func (h *testHost) mustBe(before map[string]string) {
	h.t.Helper()
	if diff := cmp.Diff(before, h.snapshot()); diff != "" {
		h.t.Errorf("the host differs from what it was (-before +after):\n%s", diff)
	}
}
