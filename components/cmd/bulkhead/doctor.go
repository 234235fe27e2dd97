// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

const doctorHelp = `Doctor checks the installation in a cluster, and says what to do, in order of urgency. It needs
only a kubeconfig, so it runs anywhere, without root. Without --fix it changes nothing. To read when
certificates expire, it runs ` + "`bulkhead certs status`" + ` in the pod bulkhead-certs of each host.

  urgent  a protection is missing now, or requests fail
  soon    a protection will be missing, a part of the cluster was never protected, or a check
          failed to run
  note    needs no action if it is intended

--fix applies what is safe without access to a host: it prints each step, and asks before it changes
anything. --fix=lease deletes the Lease of an installation that was killed. --fix=objects applies
objects of Bulkhead in the API that were deleted or changed, as bulkhead install writes them. Then
it checks again.

Exit code: 0 if nothing is urgent or soon, 2 if something is, 1 for an error, for example if
the API server does not answer.`

// errReported is the error of a command that has already printed what is wrong, so main prints nothing.
var errReported error = findingsError{}

type doctorOptions struct {
	clusterFlags
	output, fix         string
	noCertificates, yes bool
	timeout             time.Duration
	layout              host.Layout
}

func newDoctorCommand() *cobra.Command {
	o := doctorOptions{layout: host.DefaultLayout()}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation in a cluster, and say what to do",
		Long:  doctorHelp,
		Example: "  bulkhead doctor --kubeconfig=admin.conf\n" +
			"  bulkhead doctor -o json\n" +
			"  bulkhead doctor --fix=lease",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	fs := cmd.Flags()
	o.addFor(fs, "Credentials of an administrator.")
	addOutputFlag(cmd, &o.output, "table", "json", "yaml")
	fs.StringVar(&o.fix, "fix", "", "Apply the fix that a finding names. Without a name, apply all fixes.")
	fs.Lookup("fix").NoOptDefVal = allFixes
	fs.BoolVar(&o.yes, "yes", false, "With --fix: do not ask.")
	fs.BoolVar(&o.noCertificates, "no-certificates", false,
		"Do not check certificates. Without this flag, the credentials must allow pods/exec in kube-system.")
	fs.DurationVar(&o.timeout, "host-timeout", 5*time.Second,
		"Maximum time to read the certificates of a host. The command reads all hosts at the same time.")
	fs.StringVar(&o.layout.State, "state-dir", o.layout.State, "Directory of Bulkhead's files on the control-plane "+
		"hosts.")
	return cmd
}

func (o *doctorOptions) run(cmd *cobra.Command) error {
	if o.timeout <= 0 {
		return fmt.Errorf("invalid --host-timeout=%v: it must be more than 0", o.timeout)
	}
	options, err := o.connect()
	if err != nil {
		return err
	}
	check := func() (*doctor.Report, error) {
		progress := startProgress(cmd.ErrOrStderr())
		defer progress.stop()
		options.Progress = progress.step
		return doctor.Run(cmd.Context(), options)
	}
	report, err := check()
	if err != nil {
		return err
	}
	if o.fix != "" {
		dialog := fixDialog{in: cmd.InOrStdin(), out: cmd.ErrOrStderr(), yes: o.yes}
		changed, err := dialog.apply(cmd.Context(), report.Fixes(), o.fix)
		if err != nil {
			return err
		}
		if changed {
			if report, err = check(); err != nil {
				return err
			}
		}
	}
	return printDoctor(cmd.OutOrStdout(), report, o.output)
}

// connect returns the options for the cluster of the kubeconfig.
func (o *doctorOptions) connect() (doctor.Options, error) {
	status, client, err := connectStatus(&o.clusterFlags, o.layout, o.timeout, !o.noCertificates)
	if err != nil {
		return doctor.Options{}, err
	}
	return doctor.Options{Client: client.Kubernetes, Server: client, Version: buildVersion(), Now: time.Now,
		Status:  status,
		Metrics: preflight.ServerMetrics(client.Kubernetes.Discovery().RESTClient()),
		Scopes: func(ctx context.Context) ([]doctor.Scope, error) {
			return doctorScopes(ctx, client.Kubernetes, time.Now())
		},
	}, nil
}

// doctorScopes returns what `bulkhead scope list` shows.
func doctorScopes(ctx context.Context, client kubernetes.Interface, now time.Time) ([]doctor.Scope, error) {
	hosts, err := scopeHosts(ctx, client, now)
	if errors.Is(err, errNoNodeScope) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	accounts, err := scopeAccounts(ctx, client, hosts)
	if err != nil {
		return nil, err
	}
	var scopes []doctor.Scope
	for _, a := range accounts {
		pending := a.Authorization != liveOrPending(true) || a.Admission != liveOrPending(true)
		scopes = append(scopes, doctor.Scope{Account: a.Namespace + "/" + a.ServiceAccount, Pending: pending,
			Unused: a.Unused})
	}
	for _, h := range hosts {
		if h.Problem != "" {
			scopes = append(scopes, doctor.Scope{Host: h.Node, Problem: h.Problem})
		}
	}
	return scopes, nil
}

// printDoctor returns errReported if something is urgent or soon.
func printDoctor(out io.Writer, r *doctor.Report, output string) error {
	var err error
	if output == "table" {
		err = r.Print(out)
	} else {
		err = printStructured(out, output, r)
	}
	if err == nil && !r.Healthy() {
		err = errReported
	}
	return err
}
