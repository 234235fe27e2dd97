// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// zeroPolicy is for rotators that renew nothing.
var zeroPolicy pki.Policy

// Uninstall gives the kubelet its port and configuration back, and removes all of Bulkhead's files
// from this node. It depends on no part of Bulkhead, and can be repeated until it succeeds.
func (k *Installer) Uninstall(ctx context.Context, timeout time.Duration) error {
	return k.LockedWithin(ctx, engine.Patience, func() error { return k.uninstall(ctx, timeout) })
}

func (k *Installer) uninstall(ctx context.Context, timeout time.Duration) error {
	if err := k.transaction(timeout).Recover(ctx); err != nil {
		return err
	}
	disabled, err := k.disableUnit(ctx)
	if err != nil {
		return err
	}
	if !k.Installed() {
		if !disabled {
			k.Logf("Nothing had to be changed: the kubelet of this host is not behind kubelet-auth-proxy.")
		}
		return nil
	}
	k.Logf("Taking the kubelet of this host out from behind kubelet-auth-proxy")
	if _, err := k.RunAll(ctx, k.uninstallSteps(timeout)); err != nil {
		return fmt.Errorf("%w\nthe steps before it are done: run `bulkhead node uninstall` again", err)
	}
	k.Logf("The kubelet listens as it did.")
	return nil
}

// disableUnit disables the unit of a machine image. It may still wait for its proxy, and a start of the
// kubelet also starts it: it would install again.
func (k *Installer) disableUnit(ctx context.Context) (disabled bool, _ error) {
	if _, err := k.System.Systemctl(ctx, "is-enabled", InstallUnit); err != nil {
		return false, nil // systemctl fails if the unit does not exist or is disabled
	}
	if _, err := k.System.Systemctl(ctx, "disable", "--now", InstallUnit); err != nil {
		return false, fmt.Errorf("%w\nnothing has been changed: it would install again", err)
	}
	k.Note("%s is disabled. To install again with it: systemctl enable --now %s", InstallUnit, InstallUnit)
	return true, nil
}

// Installed reports whether this node has any of Bulkhead's files. The directory of the proxy does
// not count: the kubelet creates it for an idle proxy.
func (k *Installer) Installed() bool {
	for _, path := range slices.Concat(k.Layout.RenewalUnits(), k.proxyFiles(),
		[]string{k.Layout.Node(), k.Layout.KubeletUnit()}) {
		if atomicfile.Exists(path) {
			return true
		}
	}
	return false
}

// uninstallSteps restores the kubelet first. Until the kubelet has its own address and
// authentication again, the proxy protects it, and its certificate is renewed.
func (k *Installer) uninstallSteps(timeout time.Duration) []engine.Step {
	return []engine.Step{
		{Name: "restart the kubelet as it was", Apply: func(ctx context.Context) (bool, error) {
			return true, k.reopen(ctx, timeout, k.unguard)
		}},
		{Name: "stop the renewal of the proxy's certificate", Apply: func(ctx context.Context) (bool, error) {
			k.stopRenewal(ctx)
			changed, err := atomicfile.RemoveAll(k.Layout.RenewalUnits()...)
			if err != nil || !changed {
				return changed, err
			}
			_, err = k.System.Systemctl(ctx, "daemon-reload")
			return changed, err
		}},
		// This directory goes last. While it exists, an interrupted run is repeated.
		{Name: "remove " + k.Layout.Node(), Apply: func(context.Context) (bool, error) {
			err := os.RemoveAll(k.Layout.Node())
			k.removeIfEmpty()
			return true, err
		}},
	}
}

// unguard removes the configuration that makes the kubelet accept only its proxy. It also removes
// the proxy's directory, so that the next proxy is idle.
func (k *Installer) unguard(ctx context.Context) error {
	if _, err := atomicfile.RemoveAll(k.Layout.KubeletUnit()); err != nil {
		return err
	}
	if _, err := k.System.Systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	return os.RemoveAll(k.Layout.KubeletProxy())
}
