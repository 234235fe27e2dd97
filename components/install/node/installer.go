// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package node installs kubelet-auth-proxy in front of the kubelet of a host, and uninstalls it.
// It restores the old state from a journal, as package controlplane does.
package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// System is a node's host, seen from the host itself.
type System interface {
	// Systemctl runs systemctl and returns what it prints.
	Systemctl(ctx context.Context, args ...string) (string, error)
	// Process is how a running process was started.
	Process(pid int) (Process, error)
	// Healthy asks the kubelet's own health endpoint on loopback.
	Healthy(ctx context.Context) error
	// Closed passes if the kubelet answers on loopback to this certificate, runs with
	// the configuration that we wrote, and refuses whoever shows none.
	Closed(ctx context.Context, client pki.Pair, clientCA string) error
	// Accepts passes if the kubelet on loopback takes this certificate for one of a client.
	Accepts(ctx context.Context, client tls.Certificate) error
	// ProxyAddress is where the proxy on this node shall listen; empty if the cluster
	// has none for it. It is asked of the API server, as this node.
	ProxyAddress(ctx context.Context) (string, error)
	// ProxyServes passes if somebody on that address asks for a certificate or token.
	ProxyServes(ctx context.Context, address string) error
	// Evict ends the proxy, if it runs, so that the kubelet can have its port.
	Evict(ctx context.Context) error
}

// Process is how a process was started.
type Process struct {
	Args        []string
	Environment map[string]string
}

// Options are what a person decides about a node.
type Options struct {
	Certificates pki.Policy
	// Timeout bounds each wait.
	Timeout time.Duration
}

// Installer moves the kubelet of one host to loopback, behind kubelet-auth-proxy, and back. It adds
// files and edits none.
type Installer struct {
	engine.Engine
	Layout  host.Layout
	Version string
	// Program is the path of this program on the host. The renewal of the certificate runs it.
	Program string
	System  System
}

// transaction puts the kubelet behind the proxy, or leaves it as it was.
func (k *Installer) transaction(timeout time.Duration) engine.Transaction {
	return engine.Transaction{
		Engine: &k.Engine, Dir: k.Layout.NodeJournal(),
		Revert: func(ctx context.Context, j *journal.Journal) error { return k.rollback(ctx, timeout, j) },
		Advice: fmt.Sprintf("run `bulkhead node uninstall` on this host; if that fails too, remove %s, then "+
			"`systemctl daemon-reload` and `systemctl restart kubelet`", k.Layout.KubeletUnit()),
	}
}

// Install puts the kubelet of this host behind the proxy, or leaves it as it was. It can be
// repeated: the kubelet restarts only if something has changed.
func (k *Installer) Install(ctx context.Context, o Options) error {
	if err := host.ValidatePolicy(o.Certificates); err != nil {
		return err
	}
	return k.Locked(func() error { return k.install(ctx, o) })
}

func (k *Installer) install(ctx context.Context, o Options) error {
	transaction := k.transaction(o.Timeout)
	if err := transaction.Recover(ctx); err != nil {
		return err
	}
	p, err := k.newPlan(ctx, o)
	if err != nil {
		return fmt.Errorf("%w\nnothing has been changed", err)
	}
	k.Say("Putting the kubelet of this host behind kubelet-auth-proxy")
	if p.journal, err = transaction.Begin("node install"); err != nil {
		return err
	}
	changed, err := transaction.Apply(ctx, p.journal, p.steps())
	switch {
	case err != nil:
		return err
	case changed:
		k.Say("The kubelet listens on 127.0.0.1, to its proxy only.")
	default:
		k.Say("Nothing had to be changed: the kubelet is behind its proxy.")
	}
	return nil
}

// Unfinished reports whether an installation is running on this host, or was killed.
func (k *Installer) Unfinished() (bool, error) {
	j, err := journal.Open(k.Layout.NodeJournal())
	return j != nil, err
}
