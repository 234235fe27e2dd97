// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformanceflags has the flags of bulkhead-conformance. `bulkhead conformance` shows and
// completes the same flags, also where bulkhead-conformance is not installed.
package conformanceflags

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// ExitCodes is the part of the help about exit codes.
const ExitCodes = `Exit code: 0 if no rule is notHeld and no attack succeeded; 2 if a rule is notHeld, or an
attack succeeded; 1 for an error. A rule that is notProved does not change the exit code: the report has the reason.`

// Options are the flags.
type Options struct {
	Kubeconfig, Context string
	NodeExec            string
	Output              string
	Suites              []string
	Procs               int
	Timeout             time.Duration
}

// AddTo adds the flags to a flag set.
func (o *Options) AddTo(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "Credentials of an administrator. Default: $KUBECONFIG, or "+
		"~/.kube/config.")
	fs.StringVar(&o.Context, "context", "", "Context in the kubeconfig. Default: the current one.")
	fs.StringVar(&o.NodeExec, "node-exec", "", "Command that runs a shell as root on the host of {node}, for example "+
		"'ssh root@{node}'. Without it, specs that need a host are not applicable.")
	fs.StringVar(&o.Output, "output-dir", "bulkhead-report", "Directory for the report. It is created.")
	fs.StringSliceVar(&o.Suites, "suites", nil, "Suites to run. Default: all.")
	fs.IntVar(&o.Procs, "procs", 4, "Number of specs that run at the same time.")
	fs.DurationVar(&o.Timeout, "timeout", time.Hour, "Longest time of the whole run.")
}

// Validate returns an error for a flag with an invalid value.
func (o *Options) Validate() error {
	switch {
	case o.NodeExec != "" && !strings.Contains(o.NodeExec, "{node}"):
		return fmt.Errorf("invalid --node-exec=%q: write {node} where the name of the node belongs", o.NodeExec)
	case o.Procs < 1:
		return fmt.Errorf("invalid --procs=%d: it must be 1 or more", o.Procs)
	case o.Timeout <= 0:
		return fmt.Errorf("invalid --timeout=%v: it must be more than 0", o.Timeout)
	case o.Output == "":
		return errors.New("invalid --output-dir: it is empty")
	}
	return nil
}
