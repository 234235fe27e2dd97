// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

const auditHelp = `Audit summarizes findings: requests that Bulkhead would deny if it enforced its rules.
For each rule it prints how many requests and users there are, an example, and the
setting of the Installation that allows the requests.

Without a source, it reads the logs of Bulkhead's pods in kube-system. The logs have at most
2 lines a second for each user, so the numbers are a minimum. --metrics has all findings of
node-authorizer, node-restriction and kubelet-auth-proxy, without examples. The command
also looks for workloads that use the kubelet's API on 127.0.0.1.
From a worker, it takes only findings about the API of its kubelet: a compromised node can
write its own logs.

--audit-log reads the audit log of kube-apiserver. This also works before Bulkhead is
installed.

-o installation prints a file for bulkhead install --config, with mode enforce and all of
these settings. Check each setting: a finding may be an attack.

The command changes nothing.

Exit code: 0 if it could read the sources, also if there are findings; 1 for an error, for example
if a log of node-authorizer or node-restriction could not be read: then findings may be missing.`

// auditOptions are the flags of the command.
type auditOptions struct {
	clusterFlags
	// layout is where the installation of this host is.
	layout                   host.Layout
	output, config           string
	logs, metrics, auditLogs []string
	since                    time.Duration
}

func newAuditCommand() *cobra.Command {
	var flags hostFlags
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Summarize what Bulkhead would deny, and print the settings that allow it",
		Long:  auditHelp,
		Example: `  bulkhead audit
  bulkhead audit --audit-log=/var/log/kubernetes/audit/audit.log
  kubectl -n kube-system logs bulkhead-node-restriction-cp-1 | bulkhead audit --logs=-
  bulkhead audit -o installation > bulkhead.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.layout = flags.layout
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd)
		},
	}
	flags.addState(cmd.Flags())
	o.addFor(cmd.Flags(), "Credentials that may list pods and nodes, and read logs of pods.")
	cmd.Flags().DurationVar(&o.since, "since", 168*time.Hour, "How far back to read the logs of pods.")
	cmd.Flags().StringArrayVar(&o.logs, "logs", nil,
		"A file with logs of Bulkhead's components, instead of the pods; - is standard input. May be repeated.")
	cmd.Flags().StringArrayVar(&o.metrics, "metrics", nil,
		"A file with metrics of Bulkhead's components; - is standard input. May be repeated.")
	cmd.Flags().StringArrayVar(&o.auditLogs, "audit-log", nil,
		"An audit log of kube-apiserver, in JSON; - is standard input. May be repeated, for several API servers.")
	cmd.Flags().StringVar(&o.config, "config", "", "A file of kind Installation with the settings to start from; - is "+
		"standard input. Without this flag, the installation of this host, or the defaults.")
	addOutputFlag(cmd, &o.output, "text", "json", "installation")
	return cmd
}

func (o *auditOptions) validate() error {
	kinds, stdin := 0, 0
	for _, files := range [][]string{o.logs, o.metrics, o.auditLogs} {
		if len(files) > 0 {
			kinds++
		}
	}
	for _, file := range slices.Concat(o.logs, o.metrics, o.auditLogs, []string{o.config}) {
		if file == "-" {
			stdin++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("cannot combine --logs, --metrics and --audit-log: they have the same findings; run the " +
			"command once for each")
	case stdin > 1:
		return errors.New("cannot read standard input twice: give - only once")
	case o.since <= 0:
		return fmt.Errorf("invalid --since=%v: it must be more than 0", o.since)
	}
	return nil
}

// auditResult is what a run has found.
type auditResult struct {
	Lines    *auditreport.LineStats     `json:"lines,omitempty"`
	AuditLog *auditreport.AuditLogStats `json:"auditLog,omitempty"`
	Findings []auditreport.Entry        `json:"findings"`
	// Notes say what the sources do not show.
	Notes []string `json:"notes,omitempty"`
	// Incomplete is true if a source with findings could not be read.
	Incomplete bool `json:"incomplete,omitempty"`
}

var errIncompleteAudit = errors.New("the findings are incomplete: a log could not be read, see the notes; run the " +
	"command again, or give --logs=FILE")

func (o *auditOptions) run(cmd *cobra.Command) error {
	var base auditBase
	if len(o.auditLogs) > 0 || o.output == "installation" {
		var err error
		if base, err = o.base(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	result, err := o.read(cmd, base)
	if err != nil {
		return err
	}
	var incomplete error
	if result.Incomplete {
		incomplete = errIncompleteAudit
	}
	switch o.output {
	case "json":
		err = printJSON(cmd.OutOrStdout(), result)
	case "installation":
		printAuditNotes(cmd.ErrOrStderr(), result.Notes)
		if incomplete == nil {
			err = printAuditInstallation(cmd.OutOrStdout(), base, result.Findings)
		}
	default:
		err = printAuditText(cmd.OutOrStdout(), result)
	}
	return errors.Join(err, incomplete)
}

// read reads the sources.
func (o *auditOptions) read(cmd *cobra.Command, base auditBase) (*auditResult, error) {
	ctx := cmd.Context()
	var (
		report auditreport.Report
		result = &auditResult{}
		err    error
	)
	switch {
	case len(o.auditLogs) > 0:
		log := auditreport.NewAuditLog(&report, base.policy, base.strict())
		err = eachSource(cmd, o.auditLogs, "--audit-log", func(r io.Reader) error { return log.Read(ctx, r) })
		stats := log.Stats()
		result.AuditLog, result.Notes = &stats, auditLogNotes(stats)
	case len(o.metrics) > 0:
		result.Lines, err = o.readLines(cmd, o.metrics, "--metrics", report.ReadMetrics)
		result.Notes = append(result.Notes, "metrics have no examples and no keys of labels and taints: for these, run "+
			"`bulkhead audit` without --metrics")
	case len(o.logs) > 0:
		result.Lines, err = o.readLines(cmd, o.logs, "--logs", report.ReadLogs)
	default:
		err = o.readCluster(ctx, cmd.ErrOrStderr(), &report, result)
	}
	if err != nil {
		return nil, err
	}
	result.Findings = report.Entries()
	if result.Lines != nil && result.Lines.Findings > 0 && len(o.metrics) == 0 {
		result.Notes = append(result.Notes, "a component logs at most 2 lines a second for a user: there may be more "+
			"requests than these. The metrics of node-authorizer, node-restriction and kubelet-auth-proxy have all of their "+
			"findings")
	}
	if omitted := report.Omitted(); omitted > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("%d findings are not shown: there are too many different ones, or "+
			"their rule is invalid", omitted))
	}
	return result, nil
}

func (o *auditOptions) readLines(cmd *cobra.Command, files []string, flag string,
	read func(io.Reader) (auditreport.LineStats, error)) (*auditreport.LineStats, error) {
	var sum auditreport.LineStats
	err := eachSource(cmd, files, flag, func(r io.Reader) error {
		stats, err := read(r)
		sum = addLines(sum, stats)
		return err
	})
	return &sum, err
}

func addLines(a, b auditreport.LineStats) auditreport.LineStats {
	a.Lines += b.Lines
	a.Findings += b.Findings
	a.TooLong += b.TooLong
	return a
}

// eachSource opens one file after the other.
func eachSource(cmd *cobra.Command, files []string, flag string, read func(io.Reader) error) error {
	for _, file := range files {
		if err := readLong(file, cmd.InOrStdin(), cmd.ErrOrStderr(), read); err != nil {
			return fmt.Errorf("%s=%s: %w", flag, file, err)
		}
	}
	return nil
}

func (o *auditOptions) readCluster(ctx context.Context, progress io.Writer, report *auditreport.Report,
	result *auditResult) error {
	client, err := o.anywhereOrAdmin()
	if err != nil {
		return fmt.Errorf("cannot connect to the cluster: %w; give --kubeconfig, or a file with --logs", err)
	}
	logs := podLogs{client: client, since: o.since, progress: progress, report: report, open: openPodLog(client),
		first: firstOfPodLog(client)}
	stats, problems, err := logs.read(ctx)
	if err != nil {
		return err
	}
	result.Lines, result.Incomplete = &stats, logs.incomplete
	result.Notes = slices.Concat(problems, addLoopbackClients(ctx, client, report))
	return nil
}
