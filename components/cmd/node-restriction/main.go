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

const description = `Decides which writes of kubelets are admitted.

It answers AdmissionReviews of one kube-apiserver, over mutual TLS on loopback. A node
may write only objects of its own, such as its Node and its pods. If a decision needs
other objects, the program reads them from the API server at that time. If it cannot
read them in time, it denies the write with an error after which a kubelet retries. It
never admits a write because something is unavailable.

The operator's policy is a file (--config). The program reloads the policy, certificates
and the kubeconfig when they change.

Example, with the defaults of the other flags:
  node-restriction --kubeconfig=/etc/kubernetes/bulkhead/node-restriction/kubeconfig --v=2`

// newCommand returns the command. The command calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("node-restriction", description, o.flags(), o.config, run)
}
