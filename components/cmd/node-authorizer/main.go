// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// The node-authorizer decides what every kubelet may read and write. It is an authorization webhook
// on the loopback address, next to one kube-apiserver.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
