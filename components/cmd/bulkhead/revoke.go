// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// revokeFlags are the flags of bulkhead revoke.
type revokeFlags struct {
	clusterFlags
	comment                        string
	certificates, crls, ids, nodes []string
	dryRun                         bool
}

const revokeHelp = `Revoke adds credentials to the cluster's list, the ConfigMap kube-system/bulkhead-revocations:

  all credentials of a node      kube-apiserver denies every request [NA-REVOKE-1] after a second
                                 or so, and every kubelet's API [KA-REVOKE-1] within 2 minutes
  client certificate of a node   the same, for this certificate only
  another client certificate     denied by every kubelet's API only
  token of an account            denied by every kubelet's API, and by kube-apiserver
                                 [NS-REVOKE-1] if the account has a node scope

A credential is named by its ID. The ID of a client certificate is X509SHA256= and the SHA-256
of the certificate, that of a token JTI= and its jti claim. It is in the audit log of
kube-apiserver: user.extra["authentication.kubernetes.io/credential-id"].

A thief can write a stolen certificate with other bytes, so that it has another ID. Use --node if
the machine can join again under another name: that denies every certificate of the node.

A thief may have used the credential to get others: look in the audit log for other IDs of the
same user, and for create of serviceaccounts/token by it. Revoke these as well. Delete the pod of
a stolen token: until then, an account that may impersonate its node still can.

With --crl, a certificate revocation list that the cluster's CA has signed is given to the
kubelet-auth-proxy of every node (KA-CRL-1). kube-apiserver does not read it.

You cannot revoke the credential that the command itself uses.`

const revokeExample = `  # Everything of a node
  bulkhead revoke --node=worker-1 --comment='incident 7'

  # From a backup of the stolen disk
  bulkhead revoke --certificate=kubelet-client-current.pem

  # From the audit log of kube-apiserver
  bulkhead revoke --credential-id=X509SHA256=0f2a... --comment='worker-1, incident 7'

  # The node's own certificate as it is now
  ssh worker-1 sudo cat /var/lib/kubelet/pki/kubelet-client-current.pem |
    bulkhead revoke --certificate=-`

func newRevokeCommand() *cobra.Command {
	var flags revokeFlags
	cmd := &cobra.Command{
		Use:     "revoke",
		Short:   "Revoke a node, a client certificate or a service account token",
		Long:    revokeHelp,
		Example: revokeExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := flags.read(cmd.InOrStdin())
			if err != nil {
				return err
			}
			client, err := flags.anywhereOrAdmin()
			if err != nil {
				return err
			}
			r := revoker{client: client, out: cmd.OutOrStdout(), dryRun: flags.dryRun, now: time.Now}
			return r.revoke(cmd.Context(), wanted)
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&flags.certificates, "certificate", nil,
		"File with a client certificate, PEM; - for standard input. The first certificate in it is revoked, a private key "+
			"is ignored. May be repeated.")
	fs.StringArrayVar(&flags.ids, "credential-id", nil,
		"ID of a credential: X509SHA256=<64 hex digits> or JTI=<UUID>. May be repeated.")
	fs.StringArrayVar(&flags.nodes, "node", nil,
		"Name of a node. All its certificates are revoked, also those that it gets later. May be repeated.")
	fs.StringArrayVar(&flags.crls, "crl", nil,
		"File with a certificate revocation list, PEM or DER. It replaces an older one of the same CA. May be repeated.")
	fs.StringVar(&flags.comment, "comment", "", "Reason, which is stored in the list.")
	fs.BoolVar(&flags.dryRun, "dry-run", false, "Check everything, print what would change, and change nothing.")
	flags.addFor(cmd.PersistentFlags(), "Credentials that may read and change ConfigMaps of kube-system.")
	cmd.AddCommand(newRevokeListCommand(&flags.clusterFlags), newRevokeRemoveCommand(&flags.clusterFlags))
	return cmd
}

func newRevokeRemoveCommand(from *clusterFlags) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "remove ID...",
		Short: "Remove credentials from the list, so that they are accepted again",
		Long: "Remove deletes entries from the cluster's list. `bulkhead revoke list` prints their IDs. To undo a\n" +
			"certificate revocation list, publish a newer one of the same CA: every proxy keeps the newest\n" +
			"that it has seen.",
		Example: "  bulkhead revoke remove NODE=worker-1",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := from.anywhereOrAdmin()
			if err != nil {
				return err
			}
			r := revoker{client: client, out: cmd.OutOrStdout(), dryRun: dryRun, now: time.Now}
			return r.remove(cmd.Context(), args)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Print what would change, and change nothing.")
	return cmd
}

func newRevokeListCommand(from *clusterFlags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Show what is revoked",
		Long:    "List shows the nodes, the credential IDs and the certificate revocation lists in the cluster's list.",
		Example: "  bulkhead revoke list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := from.anywhereOrAdmin()
			if err != nil {
				return err
			}
			return listRevoked(cmd.Context(), cmd.OutOrStdout(), client, output, time.Now())
		},
	}
	addOutputFlag(cmd, &output, "table", "json")
	return cmd
}

// read reads all files before the first request to the cluster.
func (f *revokeFlags) read(stdin io.Reader) (toRevoke, error) {
	var wanted toRevoke
	for _, id := range f.ids {
		if err := wanted.addID(id, f.comment); err != nil {
			return wanted, fmt.Errorf("--credential-id: %w", err)
		}
	}
	for _, node := range f.nodes {
		if err := wanted.addNode(node, f.comment); err != nil {
			return wanted, fmt.Errorf("--node: %w", err)
		}
	}
	for _, name := range f.certificates {
		data, err := readInput(name, stdin, 16)
		if err == nil {
			err = wanted.addCertificate(data, f.comment)
		}
		if err != nil {
			return wanted, fmt.Errorf("cannot use --certificate=%s: %w", name, err)
		}
	}
	for _, name := range f.crls {
		data, err := readInput(name, stdin, 16)
		if err != nil {
			return wanted, fmt.Errorf("cannot use --crl=%s: %w", name, err)
		}
		wanted.crls = append(wanted.crls, crlFile{name, data})
	}
	if len(wanted.entries)+len(wanted.crls) == 0 {
		return wanted, errors.New("there is nothing to revoke: give --node, --certificate, --credential-id or --crl")
	}
	return wanted, nil
}
