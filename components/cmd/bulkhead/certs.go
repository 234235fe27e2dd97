// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

func newCertsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "Show and renew Bulkhead's certificates",
		Example: "  bulkhead certs status\n" +
			"  bulkhead certs renew",
	}
	cmd.AddCommand(newCertsStatusCommand(), newCertsRenewCommand())
	return cmd
}

func newCertsStatusCommand() *cobra.Command {
	var (
		common hostFlags
		policy pki.Policy
		output string
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show when each certificate expires",
		Long: `Status shows when each certificate of Bulkhead on this control-plane host expires, and why
one must be renewed now. The row ca is Bulkhead's own CA, which no program renews.`,
		Example: "  bulkhead certs status\n" +
			"  bulkhead certs status -o json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			record, err := common.lastRecord()
			if err != nil {
				return err
			}
			policy := certificatePolicy(cmd.Flags(), policy, record)
			all := append(common.layout.Rotator(policy, time.Now).Status(), authority(common.layout)...)
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printCertificates(cmd.OutOrStdout(), all)
		},
	}
	common.addState(cmd.Flags())
	addCertificateFlags(cmd.Flags(), &policy, controlPlaneCertificates)
	addOutputFlag(cmd, &output, "table", "json")
	return cmd
}

// authority returns the end of Bulkhead's CA. It has no row if the CA cannot be read: the rows of the
// certificates say what cannot be renewed.
func authority(l host.Layout) []pki.Status {
	file := l.CA().CertFile
	end, err := pki.ReadNotAfter(file)
	if err != nil {
		return nil
	}
	return []pki.Status{{Name: clusterstatus.AuthorityName, File: file, NotAfter: end}}
}

func printCertificates(out io.Writer, all []pki.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "CERTIFICATE\tEXPIRES\tLEFT\tRENEW")
	for _, s := range all {
		ends, left, renew := "-", "-", "no"
		if !s.NotAfter.IsZero() {
			ends, left = s.NotAfter.Format(time.RFC3339), time.Until(s.NotAfter).Round(time.Second).String()
		}
		if s.Due != "" {
			renew = "now: " + s.Due
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Name, ends, left, renew)
	}
	return table.Flush()
}

func newCertsRenewCommand() *cobra.Command {
	var (
		common hostFlags
		policy pki.Policy
		all    bool
	)
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Renew the certificates that expire soon",
		Long: `Renew replaces each certificate that is missing, unusable, or has less than
--cert-renew-before left. Clients and servers use a new certificate without a restart.

The program certificate-rotator in the static pod bulkhead-certs does this
continuously.`,
		Example: "  bulkhead certs renew\n" +
			"  bulkhead certs renew --all",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			record, err := common.lastRecord()
			if err != nil {
				return err
			}
			policy := certificatePolicy(cmd.Flags(), policy, record)
			if err := host.ValidatePolicy(policy); err != nil {
				return err
			}
			rotator := common.layout.Rotator(policy, time.Now)
			renewed, err := rotator.Renew(all)
			for _, name := range renewed {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "renewed %s\n", name)
			}
			if err == nil && len(renewed) == 0 {
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), "nothing to renew (--all renews everything)")
			}
			return err
		},
	}
	common.addState(cmd.Flags())
	addCertificateFlags(cmd.Flags(), &policy, controlPlaneCertificates)
	cmd.Flags().BoolVar(&all, "all", false, "Renew every certificate, also one that is not due.")
	return cmd
}
