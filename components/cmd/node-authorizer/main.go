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

const description = `Decides which requests of kubelets are allowed.

It answers SubjectAccessReviews of one kube-apiserver, over mutual TLS on loopback.
It watches pods, persistent volumes, volume attachments, resource slices and pod
certificate requests, to know which objects each node needs. For rules that the
in-tree Node authorizer does not have, it also watches nodes, claims and certificate
signing requests. While a cache is incomplete or out of date, it leaves every request
to the next authorizers. A cache can be a little behind: before it denies a request
of a node, it reads the objects from the API server.

It denies every request with a credential in the ConfigMap
kube-system/bulkhead-revocations (bulkhead revoke).

It reloads certificates and the kubeconfig when they change.

Example, with the defaults of the other flags:
  node-authorizer --kubeconfig=/etc/kubernetes/bulkhead/node-authorizer/kubeconfig --v=2`

// newCommand returns the command. It calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("node-authorizer", description, o.flags(), o.config, run)
}
