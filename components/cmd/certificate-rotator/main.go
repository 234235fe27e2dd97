// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// certificate-rotator runs on a control-plane host and renews Bulkhead's certificates before they
// expire.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }

const description = `Renews the certificates that bulkhead install made on this control-plane host.

It replaces each certificate that is missing, unusable, or has less than
--cert-renew-before left. It checks them when it starts and then at least once an hour,
and retries a renewal that fails. Clients and servers use a new certificate without a
restart.

It reads and writes files only. It does not listen on a port, and does not connect to
the API server. The static pod bulkhead-certs runs it.

Example, with the defaults of the other flags:
  certificate-rotator --state-dir=/etc/kubernetes/bulkhead --cert-validity=2160h`

// newCommand returns a command that calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("certificate-rotator", description, o.flags(), o.config, run)
}
