// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor checks an installation of Bulkhead from outside, through the API server only. Each
// check has a function that returns what is wrong. The checks change nothing. A repair that is safe
// without access to a host is a [Fix], which runs only if the user asks for it.
package doctor

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
)

// checkTimeout bounds the time of one check, except the first, which has the limits of clusterstatus.
const checkTimeout = 30 * time.Second

// Severity says how urgent a finding is.
type Severity string

// The severities, the most urgent first.
const (
	// Urgent means that a protection is absent now, or that requests fail.
	Urgent Severity = "urgent"
	// Soon means that it will be, or that a part of the cluster was never protected.
	Soon Severity = "soon"
	// Note needs no action if it is what the user wants.
	Note Severity = "note"
)

// Finding is one problem, of one or more objects.
type Finding struct {
	Severity Severity `json:"severity"`
	// Check is the ID of the check.
	Check string `json:"check"`
	// Names are the nodes or objects with this problem. They are absent if it is about the cluster.
	Names   []string `json:"names,omitempty"`
	Problem string   `json:"problem"`
	// Means says what the problem means for the cluster.
	Means string `json:"means"`
	// Repair is what to do.
	Repair string `json:"repair"`
	// NotChecked is true if a check could not be done. Names are then the IDs of the checks, or the
	// objects that could not be checked.
	NotChecked bool `json:"notChecked,omitempty"`
	// Fix is the name of the fix that `bulkhead doctor --fix` can apply.
	Fix string `json:"fix,omitempty"`

	fix *Fix
}

// Report is the result of all checks.
type Report struct {
	// Findings are sorted, the most urgent first.
	Findings []Finding `json:"findings"`
	Urgent   int       `json:"urgent"`
	Soon     int       `json:"soon"`
	Notes    int       `json:"notes"`
}

// Server is what the checks ask the API server. [cluster.Client] implements it.
type Server interface {
	Version(context.Context) (string, error)
	// Process returns the files that the server uses.
	Process(context.Context) (cluster.Process, error)
	// CanaryDecision returns the authorizers' decision about a node that does not exist.
	CanaryDecision(context.Context) (cluster.Decision, error)
	// GetKubelet gets a path of a node's kubelet through the API server.
	GetKubelet(ctx context.Context, node, path string) ([]byte, error)
	// Get returns nil for an object that does not exist.
	Get(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Apply(context.Context, *unstructured.Unstructured) error
}

// Scope is the state of an account with a node scope, or of a host that cannot report it.
type Scope struct {
	// Account is NAMESPACE/NAME. It is empty for a host.
	Account string
	// Host is the node whose scope-sync has a problem.
	Host    string
	Pending bool
	// Unused is true if no pod runs as the account.
	Unused  bool
	Problem string
}

// Options are the sources of a report.
type Options struct {
	Client kubernetes.Interface
	Server Server
	// Status are the sources of `bulkhead status --cluster`. Without Exec, certificates are not read.
	Status clusterstatus.Options
	// Metrics reads the API server's metrics.
	Metrics func(context.Context) (io.ReadCloser, error)
	// Scopes returns nil if the cluster has no node scope.
	Scopes func(context.Context) ([]Scope, error)
	// Version is the version of this program.
	Version string
	Now     func() time.Time
	// Progress is called before each step. It may be nil.
	Progress func(step string, done, of int)
}

// inputs are what the checks use.
type inputs struct {
	Options
	serverVersion string
	status        *clusterstatus.Report
	statusErr     error
}

// report returns the state of the hosts and nodes, or why it cannot be read.
func (in *inputs) report() (*clusterstatus.Report, error) { return in.status, in.statusErr }

// installed returns the hosts with an entry, or why they cannot be read.
func (in *inputs) installed() ([]clusterstatus.Host, error) {
	if in.statusErr != nil {
		return nil, in.statusErr
	}
	var hosts []clusterstatus.Host
	for _, h := range in.status.Hosts {
		if h.Entry != nil {
			hosts = append(hosts, h)
		}
	}
	return hosts, nil
}

// Run runs every check. It returns an error only if the API server does not answer. A check that
// cannot be done is a finding.
func Run(ctx context.Context, o Options) (*Report, error) {
	step := func(name string, done int) {
		if o.Progress != nil {
			o.Progress(name, done, len(checks)+1)
		}
	}
	step("hosts and nodes", 0)
	in := &inputs{Options: o}
	var err error
	if in.serverVersion, err = o.Server.Version(ctx); err != nil {
		return nil, fmt.Errorf("cannot check the cluster: %w; check that the server of the kubeconfig answers, for example "+
			"with `kubectl version`", err)
	}
	in.status, in.statusErr = clusterstatus.Collect(ctx, o.Status)
	var all []Finding
	for i, c := range checks {
		step(c.ID, i+1)
		all = append(all, c.findings(ctx, in)...)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return newReport(all), nil
}

// findings runs one check and completes its findings.
func (c Check) findings(ctx context.Context, in *inputs) []Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found, err := c.run(ctx, in)
	if err != nil {
		found = append(found, notChecked(err.Error()))
	}
	for i := range found {
		f := &found[i]
		f.Check = c.ID
		if f.Means == "" {
			f.Means = c.Means
		}
		if f.NotChecked && len(f.Names) == 0 {
			f.Names = []string{c.ID}
		}
		if f.fix != nil {
			f.Fix = f.fix.Name
		}
	}
	return found
}

// notChecked is a finding, because an unknown state never counts as healthy.
func notChecked(cause string) Finding {
	return Finding{Severity: Soon, NotChecked: true, Problem: "not checked: " + cause,
		Means:  "nothing is known about it: it can be as it should be, or broken",
		Repair: "remove the cause, for example with a kubeconfig of an administrator, and run `bulkhead doctor` again"}
}
