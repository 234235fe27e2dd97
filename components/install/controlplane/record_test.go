// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheRecordReadsAsBefore checks the field names that other programs read. Durations are in
// nanoseconds.
func TestTheRecordReadsAsBefore(t *testing.T) {
	record := Record{Profile: Hardened, Image: "example.test/b:1", Version: "v1",
		Certificates: options(Hardened).Certificates}
	data, err := record.encode()
	must(t, err)
	var got map[string]any
	must(t, json.Unmarshal(data, &got))
	want := map[string]any{
		"profile": "hardened", "image": "example.test/b:1", "version": "v1",
		"certificates": map[string]any{"validity": 3.6e12, "renewBefore": 6e11},
		"apiServer":    map[string]any{}, "kubeadm": map[string]any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
