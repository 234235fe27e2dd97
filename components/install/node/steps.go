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

// kubeletSettle is how long a kubelet must be healthy before the installer accepts it as started. A
// kubelet that cannot use its port exits within one second.
const kubeletSettle = 2 * time.Second

// kubeletJob is how long a systemd job may take. By default, systemd kills a process that does not
// stop within 90 s (systemd-system.conf(5), DefaultTimeoutStopSec=).
const kubeletJob = 2 * time.Minute

// whole runs a systemd job for the kubelet. The job completes even if ctx is cancelled.
func (k *Installer) whole(ctx context.Context, job string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), kubeletJob)
	defer cancel()
	_, err := k.System.Systemctl(ctx, job, "kubelet.service")
	return err
}

// restartKubelet restarts the kubelet, so that it reads the new configuration. Pods keep running.
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
	if err := p.waitClosed(ctx, p.Timeout); err != nil || p.LoopbackClients == LoopbackAllow {
		return changed, err
	}
	// Only now does no kubelet read the bundle of a former setting.
	removed, err := p.journal.RemoveFile(bundleFile(p.Layout))
	return changed || removed, err
}

// waitClosed waits until the kubelet reads Bulkhead's directory, and accepts the proxy's
// certificate. With LoopbackDeny in the record of this node, it must accept no other client.
// waitClosed copies the kubelet's serving certificate for the proxy as soon as there is one.
func (k *Installer) waitClosed(ctx context.Context, timeout time.Duration) error {
	client := k.Layout.KubeletRotator(zeroPolicy, k.Now).Leaves[0].Pair
	clients, err := k.loopbackClients()
	if err != nil {
		return err
	}
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
		if err := setup.permits(clients); err != nil {
			return err
		}
		if err := k.refresh(setup); err != nil {
			return err
		}
		if err := k.System.Closed(ctx, client, clients); err != nil {
			return err
		}
		// Copy again: the kubelet may have got its certificate after the first copy, and the next
		// step waits for the proxy.
		return k.refresh(setup)
	})
}

// refresh updates the proxy's copies, and the bundle if there is one.
func (k *Installer) refresh(setup *setup) error {
	if _, err := k.follow(k.copies(setup.clientCA, setup.serving)); err != nil {
		return err
	}
	_, err := k.keepBundle(false)
	return err
}

// waitProxy waits until the proxy of this node answers.
func (p *plan) waitProxy(ctx context.Context) (bool, error) {
	return false, p.Until(ctx, p.Timeout, "kubelet-auth-proxy on "+p.proxy, func(ctx context.Context) error {
		return p.System.ProxyServes(ctx, p.proxy)
	})
}

// reopen gives the kubelet its port back. The callback between restores the files while no kubelet
// runs. Until then, every request goes through the proxy. Afterwards, the kubelet uses its old
// configuration and its own authentication.
//
// reopen stops the kubelet first, for two reasons. A running kubelet would start the proxy again. A
// kubelet that restarts before the proxy has ended would find its port in use.
func (k *Installer) reopen(ctx context.Context, timeout time.Duration,
	between func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// From here on, an interrupt must wait: it would leave the node without a kubelet.
	stopped := k.whole(ctx, "stop")
	changing, cancel := context.WithTimeout(context.WithoutCancel(ctx), kubeletJob)
	defer cancel()
	changed := between(changing)
	var evicted error
	if _, err := os.Stat(k.Layout.KubeletUnit()); err != nil {
		evicted = k.System.Evict(changing)
	} // else the files are not restored, and the kubelet stays behind its proxy
	// Start the kubelet even after an error, so that the node is not left without one.
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

// stopRenewal ignores errors: a timer or path unit whose service is removed starts nothing.
func (k *Installer) stopRenewal(ctx context.Context) {
	for _, unit := range []string{host.RenewUnit + ".timer", host.RenewUnit + ".path"} {
		_, _ = k.System.Systemctl(ctx, "disable", "--now", unit)
	}
}
