// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

// hostFlags are the flags for the paths on this host.
type hostFlags struct {
	layout     host.Layout
	kubeconfig string
	// ignored are the preflight checks whose failure is only a warning.
	ignored []string
}

func (f *hostFlags) add(fs *pflag.FlagSet) {
	f.layout = host.DefaultLayout()
	fs.StringVar(&f.kubeconfig, "kubeconfig", "/etc/kubernetes/admin.conf",
		"Credentials of an administrator. The command always connects to the API server on this host, even if the file "+
			"has another server.")
	fs.StringVar(&f.layout.Manifests, "manifests-dir", f.layout.Manifests, "Directory of the kubelet's static pods.")
	f.addState(fs)
}

func (f *hostFlags) addState(fs *pflag.FlagSet) {
	if f.layout.State == "" {
		f.layout = host.DefaultLayout()
	}
	fs.StringVar(&f.layout.State, "state-dir", f.layout.State,
		"Directory of Bulkhead's certificates, configuration and saved originals. It must be on the file system of "+
			"--manifests-dir.")
	fs.StringVar(&f.layout.KubePKI, "kubernetes-pki", f.layout.KubePKI,
		"kubeadm's directory with ca.crt and ca.key, which sign the client certificates of Bulkhead's components.")
}

const day = 24 * time.Hour

var (
	controlPlaneCertificates = host.DefaultPolicy()
	// nodeCertificates renews the proxy's certificate every day. Some minutes after a renewal, the
	// kubelet rejects the former certificate. So a stolen key is useful for about one day. If
	// renewals fail, there is a month to repair the cause.
	nodeCertificates = pki.Policy{Validity: 30 * day, RenewBefore: 29 * day}
)

// addCertificateFlags adds the flags for the lifetime of certificates.
func addCertificateFlags(fs *pflag.FlagSet, p *pki.Policy, defaults pki.Policy) {
	fs.DurationVar(&p.Validity, "cert-validity", defaults.Validity,
		"How long a new certificate is valid. Without this flag, the value of the last install.")
	fs.DurationVar(&p.RenewBefore, "cert-renew-before", defaults.RenewBefore,
		"Renew a certificate when it expires in less than this time. Without this flag, the value of the last install.")
}

// lastRecord returns the record of the installation on this host, or an empty one.
func (f *hostFlags) lastRecord() (*controlplane.Record, error) {
	record, err := controlplane.ReadRecord(f.layout)
	return cmp.Or(record, &controlplane.Record{}), err
}

// certificatePolicy returns the policy from the flags. For a flag that is not set, it returns the
// recorded value.
func certificatePolicy(fs *pflag.FlagSet, p pki.Policy, record *controlplane.Record) pki.Policy {
	if recorded := record.Certificates.Validity; recorded > 0 && !fs.Changed("cert-validity") {
		p.Validity = recorded
	}
	if recorded := record.Certificates.RenewBefore; recorded > 0 && !fs.Changed("cert-renew-before") {
		p.RenewBefore = recorded
	}
	return p
}

// requireRoot returns an error before a run that would fail half-way without root.
func requireRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("cannot change files of the control plane: run this as root, on a control-plane host")
	}
	return nil
}

// connect reads kube-apiserver's manifest and opens a client to the server on this host.
func (f *hostFlags) connect() (*apiserver.Manifest, *cluster.Client, error) {
	data, err := os.ReadFile(f.layout.APIServerManifest())
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read kube-apiserver's manifest: %w; run this on a kubeadm control-plane host",
			err)
	}
	manifest, err := apiserver.Parse(data)
	if err != nil {
		return nil, nil, err
	}
	endpoint, err := manifest.Endpoint()
	if err != nil {
		return nil, nil, err
	}
	client, err := cluster.New(f.kubeconfig, endpoint)
	return manifest, client, err
}

// installer creates the installer for this host.
func (f *hostFlags) installer(out io.Writer) (*controlplane.Installer, error) {
	if err := requireRoot(); err != nil {
		return nil, err
	}
	_, client, err := f.connect()
	if err != nil {
		return nil, err
	}
	return &controlplane.Installer{
		Engine: engine.Engine{Out: out, Now: time.Now, Poll: 500 * time.Millisecond, Lock: f.layout.Lock},
		Layout: f.layout, Version: buildVersion(), Committed: commitTime(),
		Server: client, Objects: client, Kubeadm: client, Namespaces: client, Nodes: client, MirrorPods: client,
		ConfigMaps:  client.Kubernetes.CoreV1().ConfigMaps(metav1.NamespaceSystem),
		Leases:      client.Kubernetes.CoordinationV1().Leases(metav1.NamespaceSystem),
		ConfigHash:  func(r controlplane.Record) (string, error) { return configHash(f.layout, &r) },
		Authorizer:  host.NodeAuthorizer,
		Restriction: host.NodeRestriction,
		Preflight:   func(ctx context.Context, o controlplane.Options) error { return f.runPreflight(ctx, out, o) },
		Kubelets:    func(ctx context.Context) error { return node.KubeletsServe(ctx, client.Kubernetes, f.layout) },
		Settle:      5 * time.Second,
	}, nil
}

// findings runs every preflight check for an installation with these options.
func (f *hostFlags) findings(ctx context.Context, o controlplane.Options) ([]preflight.Finding, error) {
	manifest, client, err := f.connect()
	if err != nil {
		return nil, err
	}
	in, err := f.preflightInput(o, manifest, client)
	if err != nil {
		return nil, err
	}
	// The checks use the future configuration. An invalid file is reported here, and the installer
	// rejects it.
	policy, opened, bad := controlplane.MirrorPodPolicy(f.layout, o)
	in.Policy, in.Opened = policy, opened
	findings, err := preflight.Run(ctx, in)
	if bad != nil {
		findings = append(findings,
			preflight.Finding{Level: preflight.Warn, Check: "node-restriction's configuration", Detail: bad.Error()})
	}
	return findings, err
}

// preflightInput returns the input for an installation with these options, except the configuration of
// node-restriction. Some checks also depend on what is installed on this host.
func (f *hostFlags) preflightInput(o controlplane.Options, manifest *apiserver.Manifest,
	client *cluster.Client) (preflight.Input, error) {
	record, err := controlplane.ReadRecord(f.layout)
	return preflight.Input{
		Modes:               o.Extensions.Modes(o.Profile),
		GuardsKubelets:      o.GuardsKubelets(),
		NodeSelector:        o.Extensions.NodeSelector,
		LoopbackClients:     o.Extensions.LoopbackClients,
		StreamIdleTimeout:   o.Extensions.StreamIdleTimeout(),
		ExactTokens:         o.Profile == controlplane.Hardened && !o.Extensions.ExtendTokens,
		AuditOnly:           o.Extensions.AuditOnly,
		Enforces:            record != nil && record.Profile == controlplane.Hardened && !record.Extensions.AuditOnly,
		IgnoreFailures:      o.Extensions.IgnoreFailures,
		DenyUnknown:         o.Extensions.DenyUnknown,
		Accepted:            f.ignored,
		Metrics:             preflight.ServerMetrics(client.Kubernetes.Discovery().RESTClient()),
		Configz:             client.Configz,
		NodeScope:           o.NodeScope.On,
		KubeletClient:       controlplane.KubeletClient(f.layout, manifest),
		Profile:             string(o.Profile),
		Client:              client.Kubernetes,
		Server:              manifest,
		AuthorizationConfig: f.layout.AuthorizationConfig(),
		AdmissionConfig:     f.layout.AdmissionConfig(),
		OtherAdmission:      record.OtherAdmission(),
		Host:                preflight.LocalHost{Layout: f.layout, Ports: preflight.ComponentPorts()},
	}, err
}

// runPreflight prints all findings except those with level OK. It returns an error if a finding has level
// FAIL.
func (f *hostFlags) runPreflight(ctx context.Context, out io.Writer, o controlplane.Options) error {
	findings, err := f.findings(ctx, o)
	if err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	var shown []preflight.Finding
	for _, finding := range findings {
		if finding.Level != preflight.OK {
			shown = append(shown, finding)
		}
	}
	if err := preflight.Print(out, shown); err != nil {
		return err
	}
	if preflight.Failed(findings) {
		return fmt.Errorf("preflight: a check of profile %s failed, see FAIL above; nothing has been changed",
			o.Profile)
	}
	return nil
}

// defaultImage returns the default image for a version of this program.
func defaultImage(version string) string {
	return "ghcr.io/bulkhead-k8s/bulkhead:" + strings.ReplaceAll(version, "+", "-")
}

// chosenImage returns the value of --image. If the flag is not set, it returns the recorded image, if
// the user chose one. Otherwise it returns the default image of this version.
func chosenImage(fs *pflag.FlagSet, value string, record *controlplane.Record) string {
	if fs.Changed("image") || record.Image == defaultImage(record.Version) {
		return value
	}
	return cmp.Or(record.Image, value)
}
