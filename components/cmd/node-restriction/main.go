// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// node-restriction decides what every kubelet's writes may say, as a validating
// admission webhook on loopback beside one kube-apiserver.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
