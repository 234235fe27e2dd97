// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// kubelet-auth-proxy authenticates and authorizes requests to the kubelet of its node. The kubelet
// listens on loopback and accepts only the proxy.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }

const description = `Decides who may use the API of the kubelet of this node.

It has the kubelet's port on the node's addresses; the kubelet itself listens on
loopback and accepts only the client certificate of this program. Callers prove
themselves by client certificate or bearer token, as with the kubelet, and the API
server decides what they may do, by SubjectAccessReview on nodes and their
subresources.

While the kubelet still has the port, the program waits for it. With
--wait-for-node-install, it is idle until the files of its node exist. Certificates,
revocation lists and the kubeconfig are read again when they change.

Example, with the defaults of the other flags:
  kubelet-auth-proxy --node-name=worker-1 --bind-addresses=192.0.2.11 --mode=strict`

// newCommand returns a command that calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("kubelet-auth-proxy", description, o.flags(), o.config, run)
}
