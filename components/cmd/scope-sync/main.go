// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// The scope-sync program keeps the lists of ServiceAccounts whose requests one
// kube-apiserver sends to node scope what the cluster's annotations say.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
