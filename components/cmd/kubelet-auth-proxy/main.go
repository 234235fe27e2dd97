// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// kubelet-auth-proxy authenticates and authorizes requests to the kubelet of its node. The kubelet
// listens on loopback and accepts only the proxy.
package main

import (
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }
