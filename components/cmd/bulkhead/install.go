// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

const defaultTimeout = 3 * time.Minute

const timeoutHelp = "Maximum time until each component, and then the API server, is healthy. If one takes longer, " +
	"the command restores the old state and fails."

const installHelp = `Install runs node-authorizer and node-restriction on this host, and configures its
kube-apiserver to call them. The API server restarts once, which takes about half a
minute.

  hardened  node-authorizer in mode strict, before in-tree Node and RBAC.
            node-restriction after in-tree NodeRestriction, with its own configuration.
            kubelet-auth-proxy in front of each kubelet, after bulkhead node install
            has run on the kubelet's host
  parity    node-authorizer and node-restriction instead of the in-tree components, to
            compare rules
  in-tree   Bulkhead is not installed: the same as bulkhead uninstall

If a step fails, if the API server is not healthy within --timeout, or on Ctrl-C, the
command restores the old state before it ends. A second run changes nothing. A run
with another profile switches to it, and keeps the settings that its flags do not name.

With several control-plane hosts, run it on one after the other. Only one run at a time
is possible. The last run edits the ConfigMap kubeadm-config, because kubeadm must not
name a file that a host does not have. Use the same version on all hosts.

With --config, the file is the whole installation: a field that it does not have gets its
default. Flags override the file.`

// installFlags are the flags of `bulkhead install`.
type installFlags struct {
	hostFlags
	options         controlplane.Options
	ruleFlags       extensionFlags
	profile         string
	policyFile      string
	config          string
	protectKubelets bool
}

func newInstallCommand() *cobra.Command {
	var (
		flags  installFlags
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "install --config=FILE | --profile=hardened|parity|in-tree",
		Short: "Install Bulkhead on this control-plane host, or switch its profile",
		Long:  installHelp,
		Example: "  bulkhead install --config=bulkhead.yaml\n" +
			"  bulkhead install --profile=hardened --image=registry.example/bulkhead:v1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := flags.resolve(cmd.Flags(), cmd.InOrStdin(), cmd.OutOrStdout())
			if err != nil {
				return err
			}
			installer, err := flags.installer(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			if dryRun {
				return installer.DryRun(cmd.Context(), options)
			}
			return installer.Install(cmd.Context(), options)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Print what would change, and change nothing.")
	return cmd
}

func (f *installFlags) add(fs *pflag.FlagSet) {
	f.hostFlags.add(fs)
	addCertificateFlags(fs, &f.options.Certificates, controlPlaneCertificates)
	f.ruleFlags.add(fs)
	fs.StringVar(&f.config, "config", "",
		"File of kind Installation, or - for standard input. It sets all flags that are not given. Settings of the last "+
			"install are not kept. bulkhead config print prints such a file.")
	fs.StringVar(&f.policyFile, policyFlag, "",
		"Configuration of node-restriction, instead of the profile's. It is copied to configuration.yaml on this host. A "+
			"later run without this flag keeps it; an empty value restores the profile's.")
	fs.StringVar(&f.profile, "profile", string(controlplane.Hardened), "What to install: hardened, parity or in-tree.")
	fs.StringVar(&f.options.Image, "image", defaultImage(buildVersion()),
		"Image with the components. It must be on this host or in a registry that the host can reach. A later run without "+
			"this flag keeps the image.")
	fs.DurationVar(&f.options.Timeout, "timeout", defaultTimeout, timeoutHelp)
	fs.BoolVar(&f.protectKubelets, kubeletAPIFlag, true,
		"In hardened, protect the kubelets' API: kubelet-auth-proxy on every node where bulkhead node install has run, "+
			"an approver of kubelets' serving certificates, and a policy for nodes/proxy. Without this flag, the value of "+
			"the last install, or that of the cluster if Bulkhead runs on another control-plane host. --kubelet-api=false "+
			"removes it from the cluster, and from each node after bulkhead node uninstall on its host.")
	fs.StringSliceVar(&f.ignored, "ignore-preflight-errors", nil,
		"Preflight checks whose FAIL becomes a warning: "+strings.Join(preflight.Acceptable(), ", ")+
			". What such a check reports stops working.")
	addNodeScopeFlags(fs, &f.options.NodeScope)
	fs.BoolVar(&f.options.AllowDowngrade, hosts.DowngradeFlag, false,
		"Install even if another control-plane host has a newer version of Bulkhead. The API objects that the hosts share "+
			"are replaced by those of this version.")
	fs.BoolVar(&f.options.NodesOnly, "nodes-only", false,
		"Install only what bulkhead node install needs on the nodes, and do not change kube-apiserver. Then a later run "+
			"without this flag restarts kube-apiserver once instead of twice.")
}

// resolve returns the options from the flags. A flag that is not given has its value from the file
// of --config, or else from the record of the last installation.
func (f *installFlags) resolve(fs *pflag.FlagSet, in io.Reader, out io.Writer) (controlplane.Options, error) {
	var file *installation.Installation
	var err error
	if f.config != "" {
		if file, err = readConfig(f.config, in); err != nil {
			return f.options, err
		}
		if err := f.applyConfig(out, fs, file); err != nil {
			return f.options, err
		}
		if err := f.printChanges(out, file); err != nil {
			return f.options, err
		}
	}
	for _, name := range f.ignored {
		if !slices.Contains(preflight.Acceptable(), name) {
			return f.options, fmt.Errorf("--ignore-preflight-errors: %q cannot be ignored: only %s", name,
				strings.Join(preflight.Acceptable(), ", "))
		}
	}
	if f.options.Profile, err = controlplane.ParseProfile(f.profile); err != nil {
		return f.options, err
	}
	if err := f.applyRecord(fs, &f.options, &f.ruleFlags, f.policyFile, f.protectKubelets); err != nil {
		return f.options, err
	}
	switch {
	case file == nil:
	case fs.Changed(policyFlag):
		_, _ = fmt.Fprintf(out, "--%s=%s overrides nodePolicy of the configuration\n", policyFlag, f.policyFile)
	default:
		f.options.Policy, err = configPolicy(f.layout, file)
	}
	return f.options, err
}

// printChanges prints what the file changes in what is installed on this host. So a user sees a setting
// that the file has lost.
func (f *hostFlags) printChanges(out io.Writer, file *installation.Installation) error {
	record, err := controlplane.ReadRecord(f.layout)
	if err != nil || record == nil {
		return err
	}
	var lines []string
	have, err := installedConfig(f.layout, record)
	if err == nil {
		lines, err = configDiff(have, file)
	}
	switch {
	case err != nil: // the installation may repair it
		_, err = fmt.Fprintf(out, "cannot compare the configuration with what is installed on this host: %v\n", err)
	case len(lines) > 0:
		_, err = fmt.Fprintf(out, "the configuration changes what is installed on this host:\n  %s\n",
			strings.Join(lines, "\n  "))
	}
	return err
}

// applyRecord sets options whose flags are not set to the recorded values of the installation on this
// host.
func (f *hostFlags) applyRecord(fs *pflag.FlagSet, o *controlplane.Options, given *extensionFlags, policy string,
	kubeletAPI bool) error {
	record, err := f.lastRecord()
	if err != nil {
		return err
	}
	o.Image = chosenImage(fs, o.Image, record)
	o.Certificates = certificatePolicy(fs, o.Certificates, record)
	o.Extensions = extensions(fs, given, record)
	o.KubeletAPI, o.KubeletAPISaid = record.KubeletAPI, fs.Changed(kubeletAPIFlag)
	if o.KubeletAPISaid {
		o.KubeletAPI = &kubeletAPI
	}
	o.NodeScope = nodeScope(fs, o.Profile, o.NodeScope, record)
	o.ExtensionsSet = fs.Changed(modeFlag) || fs.Changed("beyond-upstream") || given.ruleModes.ofKubelets() ||
		fs.Changed(proxyFlagsFlag) || fs.Changed(nodeSelectorFlag) || fs.Changed(loopbackFlag)
	o.Policy, err = nodePolicy(fs, policy, record)
	return errors.Join(err, given.validate(record))
}
