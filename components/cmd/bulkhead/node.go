// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

func newNodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Put the kubelet of this host behind kubelet-auth-proxy, or undo that",
		Long: `Run the commands of node as root on the host of a node, control plane or worker, one
node at a time. They use the kubelet's own credentials.`,
		Example: "  bulkhead node install\n" +
			"  bulkhead node status",
	}
	cmd.AddCommand(newNodeInstallCommand(), newNodeUninstallCommand(), newNodeStatusCommand(), newNodeRenewCommand(),
		newNodeUnitCommand())
	return cmd
}

// nodeFlags are the flags for the paths on a node's host.
type nodeFlags struct{ layout host.Layout }

func (f *nodeFlags) add(fs *pflag.FlagSet) {
	f.layout = host.DefaultLayout()
	fs.StringVar(&f.layout.State, "state-dir", f.layout.State,
		"Directory of Bulkhead's files. It must be on the file system of /etc/systemd/system.")
	fs.StringVar(&f.layout.KubeletConf, "kubelet-kubeconfig", f.layout.KubeletConf,
		"The kubelet's credentials. The command uses them to look for the proxy of this node.")
}

func (f *nodeFlags) installer(out io.Writer) (*node.Installer, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("cannot change the kubelet: run this as root, on the host of the node")
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program on the host: %w", err)
	}
	return &node.Installer{
		Engine: engine.Engine{Out: out, Now: time.Now, Poll: 250 * time.Millisecond, Lock: f.layout.Lock},
		Layout: f.layout, Version: buildVersion(), Program: program, System: node.LocalHost{Layout: f.layout},
	}, nil
}

// certificatePolicy returns the policy from the flags. For a flag that is not set, it returns the
// recorded value of this node. An older version recorded the control plane's defaults if no flag
// was set, so such a record is ignored.
func (f *nodeFlags) certificatePolicy(fs *pflag.FlagSet, p pki.Policy) (pki.Policy, error) {
	record, err := node.ReadRecord(f.layout)
	if err != nil || record == nil || record.Certificates == controlPlaneCertificates {
		return p, err
	}
	if !fs.Changed("cert-validity") {
		p.Validity = record.Certificates.Validity
	}
	if !fs.Changed("cert-renew-before") {
		p.RenewBefore = record.Certificates.RenewBefore
	}
	return p, nil
}

func newNodeInstallCommand() *cobra.Command {
	var (
		common  nodeFlags
		options node.Options
		wait    bool
	)
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Move this host's kubelet to 127.0.0.1, behind kubelet-auth-proxy",
		Long: `Install does this:

  1. It creates a client certificate for the proxy on this node.
  2. It configures the kubelet to accept only this certificate, to listen on 127.0.0.1,
     and to serve with a certificate of the cluster.
  3. It restarts the kubelet, which takes a few seconds. Pods continue to run.

After that, systemd units update the files that the proxy reads, and replace its
certificate every day. They run this program: do not move it, and allow only root to
replace it.

First run bulkhead install on a control-plane host. It approves the kubelet's serving
certificate and runs the proxy. If the cluster has no proxy for this node, install fails
and changes nothing. If the kubelet or the proxy is not healthy within --timeout, or on
Ctrl-C, install restores the old state. A second run changes nothing.

With --loopback-clients=allow, the kubelet on 127.0.0.1 also accepts what it accepted
before: the client certificates of the cluster, and tokens if its own configuration
allows them. Clients on the node, also pods with hostNetwork, then reach the kubelet's
API without Bulkhead's rules. Only the kubelet's own authentication and authorization
limit them. The flag sets the value of this node until it is given again. Without it, a
node has the value of the cluster, kubeletAPI.loopbackClients.

With --wait, the command can run before kubeadm join, and in a cluster that has no
proxy yet. It waits without a limit, and changes nothing until this host is a node and
its proxy runs. If the installation fails, it rolls back and retries. bulkhead node unit
prints a systemd unit for a machine image, which runs this command.

Install supports only a kubelet that is started as kubeadm starts it.`,
		Example: "  bulkhead node install\n" +
			"  bulkhead node install --wait",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return installNode(cmd, common, options, wait) },
	}
	common.add(cmd.Flags())
	addCertificateFlags(cmd.Flags(), &options.Certificates, nodeCertificates)
	cmd.Flags().Var(&options.LoopbackClients, "loopback-clients",
		"`deny|allow|cluster`: deny or allow clients on this node, other than the proxy, that use the kubelet's API on "+
			"127.0.0.1. With allow, only the kubelet's own authentication and authorization limit them, and not Bulkhead's "+
			"rules. The flag sets the value of this node until it is given again. Without it, or with cluster, the node has "+
			"the value of the cluster (--kubelet-loopback-clients of bulkhead install).")
	cmd.Flags().DurationVar(&options.Timeout, "timeout", 2*time.Minute,
		"Maximum time until the kubelet, and then the proxy, is healthy. If one takes longer, the command restores the "+
			"old state and fails.")
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait, without a limit, until this host is a node of a cluster and the "+
		"cluster's kubelet-auth-proxy runs on it. Repeat an installation that fails.")
	return cmd
}

func installNode(cmd *cobra.Command, common nodeFlags, options node.Options, wait bool) (err error) {
	if options.Certificates, err = common.certificatePolicy(cmd.Flags(), options.Certificates); err != nil {
		return err
	}
	installer, err := common.installer(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	if err := host.CheckProgram(installer.Program); err != nil {
		return err
	}
	if wait {
		return installer.InstallWhenReady(cmd.Context(), options)
	}
	return installer.Install(cmd.Context(), options)
}

func newNodeUnitCommand() *cobra.Command {
	var clients node.LoopbackClients
	cmd := &cobra.Command{
		Use:   "unit",
		Short: "Print a systemd unit that installs the node when it joins",
		Long: `Unit prints a systemd unit for a machine image. It runs bulkhead node install --wait
whenever the kubelet starts, with this program at its current path. On a machine that
does not join, and in a cluster without Bulkhead, it waits and changes nothing. When the
kubelet is behind its proxy, it ends.`,
		Example: "  bulkhead node unit > /etc/systemd/system/bulkhead-node-install.service",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("cannot find this program on the host: %w", err)
			}
			unit, err := node.Unit(program, clients)
			if err == nil {
				_, err = fmt.Fprint(cmd.OutOrStdout(), unit)
			}
			return err
		},
	}
	cmd.Flags().Var(&clients, "loopback-clients", "`deny|allow|cluster`: the value of --loopback-clients in the unit. "+
		"Without it, a node that joins has the value of the cluster.")
	return cmd
}

func newNodeUninstallCommand() *cobra.Command {
	var (
		common  nodeFlags
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Restore the port and the configuration of this host's kubelet",
		Long: `Uninstall removes what node install has added, stops the proxy on this node and restores
the kubelet. It also works if the proxy and the API server do not run. You can repeat it
until it succeeds.

While kube-apiserver verifies the certificates of kubelets
(--kubelet-certificate-authority), it does not connect to a kubelet without a certificate
of the cluster. So use this order:

  1. On the control plane, run bulkhead install --kubelet-api=false, or bulkhead
     uninstall. The proxies continue to run.
  2. On every node, run bulkhead node uninstall.
  3. On the control plane, run the command of step 1 again. It removes the proxies.`,
		Example: "  bulkhead node uninstall",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			installer, err := common.installer(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return installer.Uninstall(cmd.Context(), timeout)
		},
	}
	common.add(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute,
		"Maximum time until the kubelet is back in its old state.")
	return cmd
}

func newNodeRenewCommand() *cobra.Command {
	var (
		common nodeFlags
		all    bool
	)
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Update the files that kubelet-auth-proxy reads on this host",
		Long: `Renew replaces the proxy's client certificate for the kubelet, if it is due. It also
updates the proxy's copies of the cluster's client CA and of the kubelet's serving
certificate, if those have changed. With --loopback-clients=allow, it also updates the
kubelet's clientCAFile, which has the proxy's certificate and the cluster's client CA.
systemd runs it when one of these files changes, and every hour.`,
		Example: "  bulkhead node renew\n" +
			"  bulkhead node renew --all",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			installer, err := common.installer(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			renewed, err := installer.Renew(cmd.Context(), all)
			for _, name := range renewed {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "renewed %s\n", name)
			}
			return err
		},
	}
	common.add(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "Renew every certificate, also one that is not due.")
	return cmd
}

func newNodeStatusCommand() *cobra.Command {
	var common nodeFlags
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show how the kubelet of this host is protected",
		Example: "  bulkhead node status",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			installer, err := common.installer(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return printNode(cmd.Context(), cmd.OutOrStdout(), installer)
		},
	}
	common.add(cmd.Flags())
	return cmd
}
