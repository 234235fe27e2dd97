// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

// kubeletSettle is how long a kubelet has to be healthy before it counts as back: one
// that does not get its port ends in its first second.
const kubeletSettle = 2 * time.Second

// kubeletJob is how long systemd may take for a job: by default it kills after 90 s what
// does not stop (systemd-system.conf(5), DefaultTimeoutStopSec=).
const kubeletJob = 2 * time.Minute

// whole has systemd do something with the kubelet, to its end even if ctx is cancelled
// meanwhile.
func (k *Installer) whole(ctx context.Context, job string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), kubeletJob)
	defer cancel()
	_, err := k.System.Systemctl(ctx, job, "kubelet.service")
	return err
}

// restartKubelet makes the running kubelet read what has been written. Pods go on
// meanwhile.
func (p *plan) restartKubelet(ctx context.Context) (bool, error) {
	changed := p.restart || !p.setup.ours
	if changed {
		if _, err := p.System.Systemctl(ctx, "daemon-reload"); err != nil {
			return false, err
		}
		if err := p.whole(ctx, "restart"); err != nil {
			return true, err
		}
	}
	return changed, p.waitClosed(ctx, p.Timeout)
}

// waitClosed waits for a kubelet that reads our directory, and answers the proxy's
// certificate and nobody else. The proxy gets the kubelet's serving certificate as soon
// as there is one.
func (k *Installer) waitClosed(ctx context.Context, timeout time.Duration) error {
	client := k.Layout.KubeletKeeper(zeroPolicy, k.Now).Leaves[0].Pair
	return k.Until(ctx, timeout, "the kubelet on 127.0.0.1", func(ctx context.Context) error {
		if err := k.System.Healthy(ctx); err != nil {
			return fmt.Errorf("/healthz: %w", err)
		}
		setup, err := k.inspect(ctx)
		if err != nil {
			return err
		}
		if !setup.ours {
			return fmt.Errorf("it was started without %s: does an EnvironmentFile of kubelet.service set %s?", k.configDirFlag(),
				configArgs)
		}
		if _, err := k.follow(k.copies(setup.clientCA, setup.serving)); err != nil {
			return err
		}
		if err := k.System.Closed(ctx, client, k.Layout.KubeletClientCA()); err != nil {
			return err
		}
		// Once more: the certificate that it has just answered with may have come after the
		// first look, and the proxy is waited for next.
		_, err = k.follow(k.copies(setup.clientCA, setup.serving))
		return err
	})
}

// waitProxy is about a proxy that the cluster has for this node.
func (p *plan) waitProxy(ctx context.Context) (bool, error) {
	return false, p.Until(ctx, p.Timeout, "kubelet-auth-proxy on "+p.proxy, func(ctx context.Context) error {
		return p.System.ProxyServes(ctx, p.proxy)
	})
}

// reopen gives the kubelet its port back. between makes the files what they were, while
// no kubelet runs: until then every request meets the proxy, and from then on the kubelet
// as it was, with its own authentication. The kubelet is stopped first, because it would
// start the proxy again, and because one that came back by itself between the two would
// find its port taken.
func (k *Installer) reopen(ctx context.Context, timeout time.Duration,
	between func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// From here on an interrupt waits: it would leave the node without a kubelet.
	stopped := k.whole(ctx, "stop")
	changing, cancel := context.WithTimeout(context.WithoutCancel(ctx), kubeletJob)
	defer cancel()
	changed := between(changing)
	var evicted error
	if _, err := os.Stat(k.Layout.KubeletUnit()); err != nil {
		evicted = k.System.Evict(changing)
	} // else it has not got its files back, and goes on behind its proxy
	// Whatever went wrong: a node with a kubelet is better than one without.
	started := k.whole(ctx, "start")
	if err := errors.Join(stopped, changed, evicted, started); err != nil {
		return err
	}
	pid, since := 0, time.Time{}
	return k.Until(ctx, timeout, "the kubelet as it was", func(ctx context.Context) error {
		if err := k.System.Healthy(ctx); err != nil {
			return fmt.Errorf("/healthz: %w", err)
		}
		setup, err := k.inspect(ctx)
		if err != nil {
			return err
		}
		if setup.ours {
			return fmt.Errorf("it was started with %s", k.configDirFlag())
		}
		if setup.pid != pid {
			pid, since = setup.pid, k.Now()
		}
		if steady := k.Now().Sub(since); steady < kubeletSettle {
			return fmt.Errorf("it has been back for %s only", steady.Round(time.Second))
		}
		return nil
	})
}

// stopRenewal is tried: what starts a unit that is gone does nothing.
func (k *Installer) stopRenewal(ctx context.Context) {
	for _, unit := range []string{host.RenewUnit + ".timer", host.RenewUnit + ".path"} {
		_, _ = k.System.Systemctl(ctx, "disable", "--now", unit)
	}
}
