// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

const statusHelp = `Status shows what is installed on this host. Run it as root on a control-plane host.

With --cluster it shows all hosts and nodes of the cluster, and their problems. It reads
only from the API server, so it runs anywhere, without root. It changes nothing. To read
when certificates expire, it runs ` + "`bulkhead certs status`" + ` in the pod
bulkhead-certs of each host.

Exit code of --cluster: 0 without a FAIL (WARN does not count), 2 with a FAIL, 1 if
the API server does not answer or denies a request.
Exit code without --cluster: 0 if the command could read this host, also if a component
is not ready or kube-apiserver does not answer; 1 otherwise.`

const (
	// shownClusterFindings and shownNodes bound the text. JSON has all.
	shownClusterFindings = 50
	shownNodes           = 10
	exitFindings         = 2
)

// findingsError is the error of a command that has run, and has findings with level FAIL.
type findingsError struct{ failed int }

func (e findingsError) Error() string {
	return fmt.Sprintf("the cluster has findings with level FAIL: %d", e.failed)
}

// exitCode returns the exit code of the program for an error.
func exitCode(err error) int {
	if errors.As(err, &findingsError{}) || errors.As(err, &deniedError{}) {
		return exitFindings
	}
	return 1
}

// clusterStatus has the flags of `bulkhead status --cluster`.
type clusterStatus struct {
	on, noCertificates bool
	context            string
	timeout            time.Duration
}

func (c *clusterStatus) add(fs *pflag.FlagSet) {
	fs.BoolVar(&c.on, "cluster", false, "Show all hosts and nodes of the cluster. --kubeconfig then has credentials "+
		"that may read kube-system, Nodes and kubelets; without it, $KUBECONFIG, ~/.kube/config or "+adminKubeconfig+".")
	fs.StringVar(&c.context, contextFlag, "",
		"With --cluster: the context of the kubeconfig. Without this flag, the current one.")
	fs.BoolVar(&c.noCertificates, "no-certificates", false,
		"With --cluster: do not show certificates. Without this flag, the credentials must allow pods/exec in kube-system.")
	fs.DurationVar(&c.timeout, "host-timeout", 5*time.Second,
		"With --cluster: maximum time to read the certificates of a host. The command reads all hosts at the same time.")
}

func (c *clusterStatus) validate(fs *pflag.FlagSet) error {
	for _, name := range []string{contextFlag, "no-certificates", "host-timeout"} {
		if fs.Changed(name) && !c.on {
			return fmt.Errorf("cannot use --%s for one host: add --cluster", name)
		}
	}
	if c.timeout <= 0 {
		return fmt.Errorf("invalid --host-timeout=%v: it must be more than 0", c.timeout)
	}
	return nil
}

func (c *clusterStatus) run(cmd *cobra.Command, common *hostFlags, output string) error {
	if !slices.Contains([]string{"", "text", "json"}, output) {
		return fmt.Errorf("invalid output format %q with --cluster: use text or json", output)
	}
	from := clusterFlags{context: c.context}
	if cmd.Flags().Changed("kubeconfig") {
		from.kubeconfig = common.kubeconfig
	}
	options, _, err := connectStatus(&from, common.layout, c.timeout, !c.noCertificates)
	if err != nil {
		return err
	}
	progress := startProgress(cmd.ErrOrStderr())
	progress.step("hosts and nodes", 0, 1)
	report, err := clusterstatus.Collect(cmd.Context(), options)
	progress.stop()
	if err != nil {
		return err
	}
	return printCluster(cmd.OutOrStdout(), report, output, time.Now())
}

// connectStatus connects to the cluster, and returns the sources of `bulkhead status --cluster`.
func connectStatus(from *clusterFlags, layout host.Layout, hostTimeout time.Duration, certificates bool) (
	clusterstatus.Options, *cluster.Client, error) {
	var options clusterstatus.Options
	config, err := from.anywhereOrAdminConfig()
	if err != nil {
		return options, nil, fmt.Errorf("cannot connect to the cluster: %w; give --kubeconfig", err)
	}
	config.QPS = -1 // the number of requests is small, so they need no throttle
	client, err := cluster.NewForConfig(config)
	if err != nil {
		return options, nil, fmt.Errorf("cannot connect to the cluster: %w; check the kubeconfig", err)
	}
	options = clusterstatus.Options{Client: client.Kubernetes, ProxiedNodes: client.ProxiedNodes, Layout: layout,
		HostTimeout: hostTimeout, Now: time.Now}
	if certificates {
		options.Exec = clusterstatus.NewExec(config, client.Kubernetes)
	}
	return options, client, nil
}

// printCluster returns a findingsError if the report has failed.
func printCluster(out io.Writer, r *clusterstatus.Report, output string, now time.Time) error {
	if output == "json" {
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else if err := printClusterText(out, r, now); err != nil {
		return err
	}
	failed := 0
	for _, f := range r.Findings {
		if f.Level == preflight.Fail {
			failed++
		}
	}
	if failed > 0 {
		return findingsError{failed}
	}
	return nil
}

func printClusterText(out io.Writer, r *clusterstatus.Report, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "HOST\tSTATE\tVERSION\tPROFILE\tMODE\tCONFIGURATION\tCERTIFICATES END")
	for _, h := range r.Hosts {
		columns := "-\t-\t-\t-"
		if e := h.Entry; e != nil {
			columns = strings.Join([]string{shortCell(e.Version), shortCell(e.Profile), e.Mode,
				clusterstatus.Short(e.ConfigHash)}, "\t")
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", h.Node, h.State, columns, certificatesEnd(h, now))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)
	for _, h := range r.Hosts {
		if h.Entry != nil {
			_, _ = fmt.Fprintf(out, "rule modes on %s: %s\n", h.Node, h.Entry.Modes)
		}
	}
	printGuards(out, r.Nodes)
	_, _ = fmt.Fprintln(out)
	return printClusterFindings(out, r.Findings)
}

func certificatesEnd(h clusterstatus.Host, now time.Time) string {
	end := h.FirstEnd()
	switch {
	case h.CertificatesUnknown != "":
		return "unknown: " + shortCell(h.CertificatesUnknown)
	case end.IsZero():
		return "-"
	case !end.After(now):
		return end.Format(time.DateOnly) + " (expired)"
	}
	return fmt.Sprintf("%s (in %d days)", end.Format(time.DateOnly), int(end.Sub(now)/day))
}

// printGuards prints the names of nodes that are not guarded. -o json has all names.
func printGuards(out io.Writer, nodes []clusterstatus.Node) {
	for _, state := range []clusterstatus.Guard{clusterstatus.Guarded, clusterstatus.NotGuarded, clusterstatus.LeftOut,
		clusterstatus.Unknown} {
		var names []string
		for _, n := range nodes {
			if n.Guard == state {
				names = append(names, n.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		line := fmt.Sprintf("kubelets %s: %d", state, len(names))
		if state != clusterstatus.Guarded {
			line += ": " + strings.Join(names[:min(shownNodes, len(names))], ", ")
		}
		if more := len(names) - shownNodes; more > 0 && state != clusterstatus.Guarded {
			line += fmt.Sprintf(" and %d more", more)
		}
		_, _ = fmt.Fprintln(out, line)
	}
}

func printClusterFindings(out io.Writer, findings []clusterstatus.Finding) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range findings[:min(shownClusterFindings, len(findings))] {
		where := f.Where
		if where == "" {
			where = "cluster"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.Level, where, f.Text)
		if f.Next != "" {
			_, _ = fmt.Fprintf(table, "\t\tnext: %s\n", f.Next)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(findings) - shownClusterFindings; more > 0 {
		_, _ = fmt.Fprintf(out, "%d more findings: -o json prints all.\n", more)
	}
	return nil
}
