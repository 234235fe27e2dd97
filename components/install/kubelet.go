// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// KubeletHost is a node's host, seen from the host itself.
type KubeletHost interface {
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

// KubeletOptions are what a person decides about a node.
type KubeletOptions struct {
	Certificates pki.Policy
	// Timeout bounds each wait.
	Timeout time.Duration
}

// KubeletInstaller moves the kubelet of one host to loopback, behind
// kubelet-auth-proxy, and back. It adds files and edits none.
type KubeletInstaller struct {
	Layout  Layout
	Version string
	// Program is the path of this program on the host, for the renewal of the
	// certificate.
	Program string
	Host    KubeletHost
	Out     io.Writer
	Now     func() time.Time
	// Poll is the time between two looks at something that is waited for.
	Poll time.Duration
}

// base has what both installers do in the same way.
func (k *KubeletInstaller) base() *Installer {
	return &Installer{Layout: k.Layout, Out: k.Out, Now: k.Now, Poll: k.Poll}
}

func (k *KubeletInstaller) progress() progress { return progress{out: k.Out, now: k.Now} }

// Install puts the kubelet of this host behind the proxy, or leaves it as it was. It
// can be repeated: what is as it should be is left alone, and the kubelet restarts
// only if something has changed.
func (k *KubeletInstaller) Install(ctx context.Context, o KubeletOptions) error {
	if err := ValidatePolicy(o.Certificates); err != nil {
		return err
	}
	return k.base().locked(func() error { return k.install(ctx, o) })
}

func (k *KubeletInstaller) install(ctx context.Context, o KubeletOptions) error {
	if err := k.recover(ctx, o.Timeout); err != nil {
		return err
	}
	p, err := k.newPlan(ctx, o)
	if err != nil {
		return fmt.Errorf("%w\nnothing has been changed", err)
	}
	k.progress().say("Putting the kubelet of this host behind kubelet-auth-proxy")
	if p.journal, err = journal.Begin(k.Layout.nodeJournal(), "node install"); err != nil {
		return fmt.Errorf("starting the journal: %w", err)
	}
	changed, err := k.perform(ctx, o, p.journal, p.steps())
	switch {
	case err != nil:
		return err
	case changed:
		k.progress().say("The kubelet listens on 127.0.0.1, to its proxy only.")
	default:
		k.progress().say("Nothing had to be changed: the kubelet is behind its proxy.")
	}
	return nil
}

// perform runs the steps; if one fails it takes all of them back.
func (k *KubeletInstaller) perform(ctx context.Context, o KubeletOptions, j *journal.Journal,
	steps []step) (anything bool, err error) {
	for _, s := range steps {
		changed, err := k.progress().step(s.name, func() (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			return s.run(ctx)
		})
		if err != nil {
			return false, k.giveUp(fmt.Errorf("%s: %w", s.name, err), j, o)
		}
		anything = anything || changed
	}
	return anything, j.End()
}
