// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// The scope-sync program runs on a control-plane host and keeps the two lists of its
// kube-apiserver current. The lists name the ServiceAccounts whose requests kube-apiserver
// sends to node scope. The annotations in the cluster define which accounts are listed.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
