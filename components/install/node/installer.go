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

// System gives access to the host of a node. It runs on that host.
type System interface {
	// Systemctl runs systemctl and returns its output.
	Systemctl(ctx context.Context, args ...string) (string, error)
	// Process returns the arguments and environment of a running process.
	Process(pid int) (Process, error)
	// Healthy checks the kubelet's health endpoint on loopback.
	Healthy(ctx context.Context) error
	// Closed succeeds if the kubelet on loopback accepts this certificate and runs with the
	// configuration that Bulkhead wrote for this setting. With LoopbackDeny, the kubelet must also
	// reject a client without a certificate.
	Closed(ctx context.Context, client pki.Pair, clients LoopbackClients) error
	// Accepts succeeds if the kubelet on loopback accepts this client certificate.
	Accepts(ctx context.Context, client tls.Certificate) error
	// Proxy returns what the API server knows of this node's proxy. It asks with the credentials of
	// this node.
	Proxy(ctx context.Context) (Proxy, error)
	// ProxyServes succeeds if a server on that address requires a certificate or token.
	ProxyServes(ctx context.Context, address string) error
	// Evict ends every process of the proxy, so that the kubelet can use its port. This includes an
	// idle process: the kubelet starts it again with the directory that exists by then.
	Evict(ctx context.Context) error
}

// Proxy is the kubelet-auth-proxy of a node.
type Proxy struct {
	// Address is where the proxy must listen. It is empty if the cluster has no proxy for this node.
	Address string
	// Starting says why the kubelet must not be stopped: it is about to start the proxy's container.
	// It is empty if the container runs.
	Starting string
	// LoopbackClients is the value of the cluster. It is not validated, and empty if an older version
	// installed the proxy.
	LoopbackClients LoopbackClients
}

// Process is how a process was started.
type Process struct {
	Args        []string
	Environment map[string]string
}

// Options are the settings that the user chooses for a node.
type Options struct {
	Certificates pki.Policy
	// LoopbackClients is the setting for clients on the node. If it is empty, the node keeps the value of
	// an earlier run with it, or has the value of the cluster. LoopbackCluster always applies the latter.
	LoopbackClients LoopbackClients
	// Timeout bounds each wait.
	Timeout time.Duration
}

// Installer moves the kubelet of one host to loopback, behind kubelet-auth-proxy, and back. It adds
// files and edits none.
type Installer struct {
	engine.Engine
	Layout  host.Layout
	Version string
	// Program is the path of the bulkhead program on the host. The renewal unit runs it to renew
	// the certificate.
	Program string
	System  System
}

// transaction returns a transaction that rolls back the node if a step fails.
func (k *Installer) transaction(timeout time.Duration) engine.Transaction {
	return engine.Transaction{
		Engine: &k.Engine, Dir: k.Layout.NodeJournal(),
		Revert: func(ctx context.Context, j *journal.Journal) error { return k.rollback(ctx, timeout, j) },
		Advice: fmt.Sprintf("run `bulkhead node uninstall` on this host; if that fails too, remove %s, then "+
			"`systemctl daemon-reload` and `systemctl restart kubelet`", k.Layout.KubeletUnit()),
	}
}

// Install puts the kubelet of this host behind the proxy. If it fails, it restores the old state.
// It can be repeated: the kubelet restarts only if something has changed.
func (k *Installer) Install(ctx context.Context, o Options) error {
	if err := host.ValidatePolicy(o.Certificates); err != nil {
		return err
	}
	return k.LockedWithin(ctx, engine.Patience, func() error { return k.install(ctx, o) })
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
	k.Logf("Putting the kubelet of this host behind kubelet-auth-proxy")
	p.noteLostClients()
	if p.journal, err = transaction.Begin("node install"); err != nil {
		return err
	}
	changed, err := transaction.Apply(ctx, p.journal, p.steps())
	switch {
	case err != nil:
		return err
	case !changed:
		k.Logf("Nothing had to be changed: the kubelet is behind its proxy.")
	case p.LoopbackClients == LoopbackAllow:
		k.Logf("The kubelet listens on 127.0.0.1.")
	default:
		k.Logf("The kubelet listens on 127.0.0.1, to its proxy only.")
	}
	p.noteLoopback()
	return nil
}

// Unfinished reports whether an installation is running on this host, or was killed.
func (k *Installer) Unfinished() (bool, error) {
	j, err := journal.Open(k.Layout.NodeJournal())
	return j != nil, err
}
