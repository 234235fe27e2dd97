// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/scripts/toolflag"
)

func TestHelp(t *testing.T) { toolflag.CheckHelp(t, parse, "make bench-cis", "write") }
