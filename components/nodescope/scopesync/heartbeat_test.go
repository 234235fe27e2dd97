// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHeartbeat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heartbeat")
	check := func(name string, ready bool, want string) {
		t.Helper()
		err := CheckHeartbeat(path, time.Minute, ready)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	beat := func(lacks string) {
		t.Helper()
		if err := WriteHeartbeat(path, lacks); err != nil {
			t.Fatal(err)
		}
	}
	check("before the first", false, "no such file")
	beat("a view of the cluster")
	check("it lives", false, "")
	check("it is not ready", true, "not ready: a view of the cluster")
	beat("")
	check("it is ready", true, "")
	old := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	check("it hangs", false, "the last heartbeat was 2m0s ago")
	check("it hangs, and was ready", true, "the last heartbeat was 2m0s ago")
	beat(strings.Repeat("x", 2*maxHeartbeatBytes))
	check("it says a lot", true, "not ready: xxx")
	if err := WriteHeartbeat(filepath.Join(path, "x"), ""); err == nil {
		t.Error("a heartbeat that is nowhere")
	}
}
