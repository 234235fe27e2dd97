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

const description = `Decides which requests to the API of this node's kubelet are allowed.

It listens on the kubelet's port on the node's addresses. The kubelet itself listens on
loopback and accepts only the client certificate of this program. A client authenticates
with a client certificate or a bearer token, as at the kubelet. The API server authorizes
the request: the program sends it SubjectAccessReviews for nodes and their subresources.

While the kubelet still uses the port, the program waits until the port is free. With
--wait-for-node-install, it is idle until the files of its node exist. It reloads
certificates, revocation lists and the kubeconfig when they change.

Example, with the defaults of the other flags:
  kubelet-auth-proxy --node-name=worker-1 --bind-addresses=192.0.2.11 --mode=strict`

// newCommand returns a command that calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("kubelet-auth-proxy", description, o.flags(), o.config, run)
}
