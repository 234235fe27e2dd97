// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/customread"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesuggest"
)

// suggestOptions are the flags of the command.
type suggestOptions struct {
	clusterFlags
	output, custom string
	logs           []string
}

func newScopeSuggestCommand() *cobra.Command {
	var o suggestOptions
	cmd := &cobra.Command{
		Use:   "suggest NAMESPACE/SERVICEACCOUNT --audit-log=FILE",
		Short: "Print the widest scope that still allows what an account does",
		Long: `Suggest reads the requests of an account from the API server's audit log, and its rights
from RBAC. It prints the widest value of bulkhead.dev/node-scoped-resources that still
allows all requests in the log, and the verbs that this value denies on objects of other
nodes. The value contains resources that RBAC grants but the log does not have: check the
rows with SEEN 0.

The command checks each request against the rules of node scope, with the current objects
of the cluster. An object that no longer exists counts as one of another node. The log has
no request bodies, so the content of writes is checked only if the account was in mode
audit (bulkhead.dev/node-scope-mode=audit) when the log was written.

The command can run anywhere, with credentials that may list pods, volumes and RBAC. It
changes nothing. The log is on the control-plane hosts, at the --audit-log-path of
kube-apiserver.`,
		Example: `  bulkhead scope suggest monitoring/log-collector --audit-log=audit.log
  ssh cp-1 cat /var/log/kubernetes/audit/audit.log |
    bulkhead scope suggest monitoring/log-collector --audit-log=-`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			account, err := accountNamed(args[0])
			if err != nil {
				return err
			}
			if err := o.validate(); err != nil {
				return err
			}
			client, err := o.anywhereOrAdmin()
			if err != nil {
				return err
			}
			return o.suggest(cmd, client, account)
		},
	}
	o.addFor(cmd.Flags(), "Credentials that may list the objects that nodes use, and RBAC.")
	cmd.Flags().StringArrayVar(&o.logs, "audit-log", nil,
		"An audit log of kube-apiserver, in JSON, with the level Metadata or higher; - is standard input. May be "+
			"repeated, for several API servers.")
	cmd.Flags().StringVar(&o.custom, "node-scope-custom-resources", "",
		"Custom resources with a node name, with the same value as the flag of node-authorizer.")
	addOutputFlag(cmd, &o.output, "table", "json")
	return cmd
}

func (o suggestOptions) validate() error {
	if len(o.logs) == 0 {
		return errors.New("--audit-log is missing: give the file that kube-apiserver writes with --audit-log-path, or - " +
			"to read it from standard input")
	}
	return nil
}

func accountNamed(text string) (scopelist.Account, error) {
	namespace, name, ok := strings.Cut(text, "/")
	account := scopelist.Account{Namespace: namespace, Name: name}
	if !ok {
		return account, fmt.Errorf("%q: want NAMESPACE/SERVICEACCOUNT", text)
	}
	return account, scopelist.Validate(account)
}

func (o suggestOptions) suggest(cmd *cobra.Command, client kubernetes.Interface, account scopelist.Account) error {
	ctx := cmd.Context()
	if _, err := client.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name,
		metav1.GetOptions{}); err != nil {
		return fmt.Errorf("cannot read the ServiceAccount: %w", err)
	}
	custom, err := nodescope.ParseDeclarations(o.custom)
	if err != nil {
		return err
	}
	node, forget, err := nodesAsTheyAre(ctx, cmd.ErrOrStderr(), client)
	if err != nil {
		return err
	}
	defer forget()
	s := scopesuggest.New(account, nodescope.Config{
		Node: node, Custom: custom, Objects: customread.New(client.CoreV1().RESTClient()),
		Unready: func() string { return "" },
	})
	objects, err := readRBAC(ctx, client)
	if err != nil {
		return err
	}
	s.Grant(objects.Granted(account))
	log := scopesuggest.NewLog(account)
	for _, file := range o.logs {
		if err := readLog(cmd, file, log, s); err != nil {
			return err
		}
	}
	suggestion, err := s.Suggest(ctx)
	if err != nil {
		return err
	}
	return printSuggestion(cmd.OutOrStdout(), o.output, account, log.Stats(), suggestion)
}

// readLog passes the requests of one log to the suggester. When the context ends, it stops at the
// next request.
func readLog(cmd *cobra.Command, file string, log *scopesuggest.Log, s *scopesuggest.Suggester) error {
	ctx := cmd.Context()
	err := readLong(file, cmd.InOrStdin(), cmd.ErrOrStderr(), func(in io.Reader) error {
		return log.Read(in, func(seen scopesuggest.Request) {
			if ctx.Err() == nil {
				s.See(ctx, seen)
			}
		})
	})
	if err != nil {
		return fmt.Errorf("--audit-log=%s: %w", file, err)
	}
	return ctx.Err()
}
