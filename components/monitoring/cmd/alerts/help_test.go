// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/scripts/toolflag"
)

func TestHelp(t *testing.T) { toolflag.CheckHelp(t, parse, "make alerts", "only") }

func TestRewriteNeedsAPage(t *testing.T) {
	_, err := parse(io.Discard, []string{"--rewrite"})
	if err == nil || !strings.Contains(err.Error(), "-write is empty") {
		t.Errorf("got %v", err)
	}
}
