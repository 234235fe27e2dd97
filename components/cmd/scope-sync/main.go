// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// The scope-sync program keeps the lists of accounts with a scope current on one host.
// kube-apiserver sends the requests of these ServiceAccounts to node scope. The annotations in
// the cluster define which accounts are in the lists.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
