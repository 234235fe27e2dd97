// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// The node-authorizer decides what every kubelet may read and write. It is an authorization webhook
// on the loopback address, next to one kube-apiserver.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }

const description = `Decides what every kubelet may read and write.

It answers SubjectAccessReviews of one kube-apiserver, over mutual TLS on
loopback, from what pods, persistent volumes, volume attachments, resource slices
and pod certificate requests say about who runs what; for the rules that go beyond
the in-tree Node authorizer also from nodes, claims and certificate signing
requests. While it has not seen all of them, or hears nothing of them any more, it
leaves every request to the next authorizers. Before it refuses a node, it makes
sure with a live read that it is not behind.

It denies every request that was made with a credential in the ConfigMap
kube-system/bulkhead-revocations (bulkhead revoke).

Certificates and the kubeconfig are read again when they change.

Example, with the defaults of the other flags:
  node-authorizer --kubeconfig=/etc/kubernetes/bulkhead/node-authorizer/kubeconfig --v=2`

// newCommand returns the command. It calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("node-authorizer", description, o.flags(), o.config, run)
}
