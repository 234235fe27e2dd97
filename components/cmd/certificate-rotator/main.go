// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// certificate-rotator runs on a control-plane host and renews Bulkhead's certificates before they
// expire.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
