// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// kubelet-csr-approver runs on a control-plane host and approves certificate signing requests of
// kubelets for serving certificates.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }

const description = `Approves serving certificates of kubelets, for their own names and addresses only.

It watches certificate signing requests for the signer kubernetes.io/kubelet-serving.
It approves a node's request for the node's own name and the addresses in its status,
and leaves other requests to an administrator. An event on the request has the reason.

It does not listen on a port. It reloads certificates and the kubeconfig when they
change. The static pod bulkhead-kubelet-approver runs it.

Example, with the defaults of the other flags:
  kubelet-csr-approver --kubeconfig=/etc/kubernetes/bulkhead/kubelet-approver/kubeconfig`

// newCommand returns a command that calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("kubelet-csr-approver", description, o.flags(), o.config, run)
}
