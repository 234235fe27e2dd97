// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// kubelet-auth-proxy proves who talks to the kubelet of its node, and whether they
// may, in front of a kubelet that listens on loopback and accepts nobody else.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
