// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package preflight names what would defeat Bulkhead in a cluster, before it is
// installed and at any time after.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// Level says how much a finding matters.
type Level string

const (
	// OK needs nothing.
	OK Level = "OK"
	// Warn is for a person to judge.
	Warn Level = "WARN"
	// Fail keeps the profile from keeping its promise.
	Fail Level = "FAIL"
)

// Finding is the result of one check.
type Finding struct {
	Level Level
	// Check is what was looked at.
	Check string
	// Detail is what was seen and, if it matters, what to do.
	Detail string
}

// Input is what the checks look at.
type Input struct {
	// Profile is the one that is to be installed.
	Profile string
	Client  kubernetes.Interface
	// Server is the manifest of kube-apiserver.
	Server Server
	// AuthorizationConfig is the file that our own installation names.
	AuthorizationConfig string
	// AdmissionConfig is the same for admission.
	AdmissionConfig string
	// Policy is what node-restriction will be told; nil if it will be told nothing.
	Policy *configuration.Configuration
	// GuardsKubelets is true if kubelet-auth-proxy is to be installed, and KubeletClient is
	// who kube-apiserver is to kubelets.
	GuardsKubelets bool
	KubeletClient  string
	// NodeScope is true if tokens are to be held to the nodes of their pods.
	NodeScope bool
	// Opened are the annotations that the installer gives kube-system.
	Opened map[string]string
	// Host is what the checks of the host read; nil leaves them out.
	Host Host
}

// Server is what the checks need of kube-apiserver's manifest.
type Server interface {
	Arg(name string) (string, bool)
	// ReadsManifests reports whether a server of that version takes webhooks from disk.
	ReadsManifests(serverVersion string) bool
}

// Host is the machine on which the installer runs.
type Host interface {
	// SignerProblem says why the cluster's CA on this host cannot sign; empty if it can.
	SignerProblem() string
	// PortHolder says whether somebody else holds one of our ports; empty if not.
	PortHolder() string
}

// Run makes every check. An error means that the checks could not be made.
func Run(ctx context.Context, in Input) ([]Finding, error) {
	findings := append(flagFindings(in), hostFindings(in.Host)...)
	var errs []error
	for _, check := range []func(context.Context, Input) ([]Finding, error){
		versionFindings, bindingFindings, nodeFindings, joinFindings, requestFindings, mirrorPodFindings, kubeletFindings,
		scopeFindings,
	} {
		found, err := check(ctx, in)
		findings = append(findings, found...)
		errs = append(errs, err)
	}
	return findings, errors.Join(errs...)
}

// Failed reports whether a finding forbids the installation.
func Failed(findings []Finding) bool {
	for _, f := range findings {
		if f.Level == Fail {
			return true
		}
	}
	return false
}

// Print writes the findings as a table.
func Print(out io.Writer, findings []Finding) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\n", f.Level, f.Check, f.Detail); err != nil {
			return err
		}
	}
	return table.Flush()
}

func hostFindings(host Host) []Finding {
	if host == nil {
		return nil
	}
	signer := Finding{OK, "cluster CA on this host", "can sign the components' client certificates"}
	if problem := host.SignerProblem(); problem != "" {
		signer.Level, signer.Detail = Fail, problem
	}
	ports := Finding{OK, "ports on loopback", "free, or used by Bulkhead"}
	if holder := host.PortHolder(); holder != "" {
		ports.Level, ports.Detail = Fail, holder
	}
	return []Finding{signer, ports}
}
