// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"hash/maphash"
	"strings"
	"testing"
)

func TestCPUProfileNamesWhatWasDone(t *testing.T) {
	seed, sum := maphash.MakeSeed(), uint64(0)
	profile, err := CPUProfile("hashing", func() {
		for range 100_000 {
			sum += maphash.String(seed, "something to do")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if profile.Title != "hashing" || !strings.Contains(profile.Text, "with callees") || !strings.Contains(profile.Text, "maphash") {
		t.Errorf("got %q (%d)", profile, sum)
	}
	for _, hidden := range []string{"File:", "Time:", "/tmp"} {
		if strings.Contains(profile.Text, hidden) {
			t.Errorf("the profile tells %q of this machine:\n%s", hidden, profile.Text)
		}
	}
}
