// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// node-restriction decides what every kubelet may write. It is a validating admission webhook that
// listens on loopback, next to one kube-apiserver.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
