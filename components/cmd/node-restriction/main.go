// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// node-restriction decides what every kubelet may write. It is a validating admission webhook that
// listens on loopback, next to one kube-apiserver.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }

const description = `Decides what every kubelet's writes may say.

It answers AdmissionReviews of one kube-apiserver, over mutual TLS on loopback: a
node writes itself and its own pods, and nothing else. What a write alone does not
say, it reads from the API server at that moment. Where it cannot find out in time,
it refuses, in a way that a kubelet tries again. It never admits because something
is down.

The operator's policy is a file, which is read again when it changes; so are
certificates and the kubeconfig.

Example, with the defaults of the other flags:
  node-restriction --kubeconfig=/etc/kubernetes/bulkhead/node-restriction/kubeconfig --v=2`

// newCommand returns the command. The command calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("node-restriction", description, o.flags(), o.config, run)
}
