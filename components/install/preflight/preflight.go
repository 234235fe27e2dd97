// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package preflight lists everything in a cluster that would bypass Bulkhead. The checks can run
// before the installation and at any time after it.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Level is the severity of a finding.
type Level string

const (
	// OK needs no action.
	OK Level = "OK"
	// Warn needs a decision by the user.
	Warn Level = "WARN"
	// Fail means that the profile cannot protect the cluster as documented.
	Fail Level = "FAIL"
)

// Finding is the result of one check.
type Finding struct {
	Level Level
	// Check is the name of the check.
	Check string
	// Detail is the result and, if action is needed, what to do.
	Detail string
}

// Input is the data that the checks use.
type Input struct {
	// Profile is the profile to be installed.
	Profile string
	Client  kubernetes.Interface
	// Server is the manifest of kube-apiserver.
	Server Server
	// AuthorizationConfig is the path of Bulkhead's authorization file.
	AuthorizationConfig string
	// AdmissionConfig is the path of Bulkhead's admission file.
	AdmissionConfig string
	// OtherAdmission is the file whose plugins the installed Bulkhead keeps. It is empty if there
	// is none.
	OtherAdmission string
	// Policy is the future configuration of node-restriction. It is nil if there is none.
	Policy *configuration.Configuration
	// Modes are the modes of the rules that have one.
	Modes map[rules.ID]rules.Mode
	// GuardsKubelets is true if kubelet-auth-proxy is to be installed. KubeletClient is the user
	// name of kube-apiserver at the kubelets.
	GuardsKubelets bool
	KubeletClient  string
	// NodeSelector is the label selector of the nodes with kubelet-auth-proxy.
	NodeSelector string
	// LoopbackClients is the setting for clients of the kubelets on 127.0.0.1. It is empty if the user
	// set none. Then these clients are allowed in mode audit, and denied otherwise.
	LoopbackClients node.LoopbackClients
	// StreamIdleTimeout is how long kubelet-auth-proxy keeps an idle stream.
	StreamIdleTimeout time.Duration
	// AuditOnly is true if the installation denies nothing.
	AuditOnly bool
	// Enforces is true if this host already has profile hardened in mode enforce.
	Enforces bool
	// IgnoreFailures is true if kube-apiserver goes on without node-restriction when it cannot call it.
	IgnoreFailures bool
	// DenyUnknown is true if requests of nodes for resources without a rule are denied also in a newer
	// Kubernetes.
	DenyUnknown bool
	// Accepted are names of [Acceptable] whose failure is only a warning.
	Accepted []string
	// NodeScope is true if tokens are to be limited to the nodes of their pods.
	NodeScope bool
	// ExactTokens is true if kube-apiserver is to stop extending the tokens of ServiceAccounts.
	ExactTokens bool
	// Metrics reads kube-apiserver's metrics. If it is nil, the check of tokens is skipped.
	Metrics func(context.Context) (io.ReadCloser, error)
	// Configz reads the running configuration of a node's kubelet. If it is nil, the checks do without.
	Configz func(ctx context.Context, node string) ([]byte, error)
	// kubelets are what Configz returned. compatibilityFindings reads them once for its checks.
	kubelets kubelets
	// Opened are the annotations that the installer sets on kube-system.
	Opened map[string]string
	// Host is used by the checks of the host. If it is nil, they are skipped.
	Host Host
}

// Server is the part of kube-apiserver's manifest that the checks need.
type Server interface {
	Arg(name string) (string, bool)
	// ReadsManifests reports whether a server of this version reads webhooks from disk.
	ReadsManifests(serverVersion string) bool
	// Gate returns the value of a feature gate in --feature-gates. said is false if the flag does not
	// set it.
	Gate(name string) (on, said bool)
	// HostPath returns the host's path of a file that a flag of the server names. It is empty if the
	// file is not on a volume of the host.
	HostPath(file string) string
}

// Host is the host on which the installer runs.
type Host interface {
	// SignerProblem returns why the cluster's CA on this host cannot sign. It is empty if it can.
	SignerProblem() string
	// PortOwner describes another program that uses one of Bulkhead's ports. It is empty if there
	// is none.
	PortOwner() string
	// AdmissionPlugins returns the names of the plugins in a file of kube-apiserver that is at path on
	// the host. An error says why Bulkhead's file cannot keep them.
	AdmissionPlugins(file, path string) ([]string, error)
	// KubeletCAProblem returns why kube-apiserver would reject the certificates of kubelets behind their
	// proxies, if it verifies them with the file at path. It is empty if it would accept them. An empty
	// path means that the file is not on a volume of the host.
	KubeletCAProblem(path string) string
}

// Run runs every check. It returns the findings, and an error if a check could not run.
func Run(ctx context.Context, in Input) ([]Finding, error) {
	findings := slices.Concat(flagFindings(in), hostFindings(in.Host), failurePolicyFindings(in))
	var errs []error
	for _, check := range []func(context.Context, Input) ([]Finding, error){
		versionFindings, podCertificateFindings, nodeFindings, joinFindings, NamelessNodes, kubeletFindings,
		scopeFindings, compatibilityFindings,
	} {
		found, err := check(ctx, in)
		findings = append(findings, found...)
		errs = append(errs, err)
	}
	return findings, errors.Join(errs...)
}

// compatibilityFindings judges what works now and would stop. An installation that only audits denies
// little of it, so there a FAIL is only a warning.
func compatibilityFindings(ctx context.Context, in Input) ([]Finding, error) {
	var findings []Finding
	var err error
	in.kubelets, err = readKubelets(ctx, in)
	errs := []error{err}
	for _, check := range []func(context.Context, Input) ([]Finding, error){
		bindingFindings, nodePolicyFindings, mirrorPodFindings, podIPFindings, windowsFindings, leftOutFindings,
		kubeletConfigFindings, addressFindings, kubeletCAFindings, loopbackFindings, staleTokenFindings,
	} {
		found, err := check(ctx, in)
		findings = append(findings, found...)
		errs = append(errs, err)
	}
	for i, f := range findings {
		audited := in.AuditOnly && !stopsInAudit(in, f.Check)
		if f.Level == Fail && (audited || in.accepts(f.Check)) {
			findings[i].Level = Warn
			if audited {
				findings[i].Detail = "before mode enforce: " + f.Detail
			}
		}
	}
	return findings, errors.Join(errs...)
}

// stopsInAudit reports whether the clients of a check lose access also in mode audit. Clients of [::1] do:
// the kubelet itself denies them. Those of 127.0.0.1 do if the user has set that. kube-apiserver does if
// it connects to another address than the proxy's, or does not trust a kubelet's new certificate.
func stopsInAudit(in Input, check string) bool {
	switch check {
	case kubeletConfigCheck, ipv6LoopbackCheck, addressCheck, kubeletCACheck:
		return true
	case loopbackCheck:
		return in.LoopbackClients == node.LoopbackDeny
	}
	return false
}

// Acceptable are the checks whose failure the user may accept, with "-" for each space.
func Acceptable() []string {
	var names []string
	for _, check := range []string{bindingCheck, nodePolicyCheck, mirrorPodsCheck, podIPCheck, kubeletConfigCheck,
		loopbackCheck, ipv6LoopbackCheck, staleTokenCheck, addressCheck, kubeletCACheck} {
		names = append(names, flagName(check))
	}
	return names
}

// accepts reports whether the user accepts the failure of a check. In parity, RBAC decides last, so a right
// by RBAC bypasses Bulkhead.
func (in Input) accepts(check string) bool {
	return slices.Contains(in.Accepted, flagName(check)) && (check != bindingCheck || in.Profile != parity)
}

func flagName(check string) string { return strings.ReplaceAll(check, " ", "-") }

// Failed reports whether a finding prevents the installation.
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
	// Names in a finding can come from users with few rights, and RBAC allows control characters in them. An
	// error can have several lines.
	const longest = 8 << 10
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		detail := webhook.Printable(strings.ReplaceAll(f.Detail, "\n", "; "), longest)
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\n", f.Level, f.Check, detail); err != nil {
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
	if owner := host.PortOwner(); owner != "" {
		ports.Level, ports.Detail = Fail, owner
	}
	return []Finding{signer, ports}
}
