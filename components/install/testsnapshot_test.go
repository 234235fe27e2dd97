// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// snapshot is every file of the host with its content and mode, the lock aside,
// and what the API holds.
func (h *testHost) snapshot() map[string]string {
	h.t.Helper()
	all := map[string]string{"kubeadm-config": h.kubeadm, "annotations": fmt.Sprint(h.annotations)}
	for name, object := range h.objects {
		content, err := essence(object)
		must(h.t, err)
		all[name] = string(content)
	}
	root := filepath.Dir(h.layout.State)
	must(h.t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == h.layout.Lock || path == root {
			return err
		}
		if d.IsDir() {
			all[path] = "directory"
			return nil
		}
		file, _, err := atomicfile.Read(path)
		all[path] = fmt.Sprintf("%v group %d: %s", file.Mode, file.GID, file.Data)
		return err
	}))
	return all
}

// mustBe compares the host with an earlier snapshot.
func (h *testHost) mustBe(before map[string]string) {
	h.t.Helper()
	if diff := cmp.Diff(before, h.snapshot()); diff != "" {
		h.t.Errorf("the host differs from what it was (-before +after):\n%s", diff)
	}
}
