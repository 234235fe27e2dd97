// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// kubelet-csr-approver runs on a control-plane host and approves certificate signing requests of
// kubelets for serving certificates.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
