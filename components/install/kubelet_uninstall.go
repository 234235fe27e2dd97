// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// zeroPolicy is for keepers that renew nothing.
var zeroPolicy pki.Policy

// Uninstall gives the kubelet its port and its configuration back, and removes
// everything of ours from this node. It needs nothing of ours to work, and can be
// repeated until it succeeds.
func (k *KubeletInstaller) Uninstall(ctx context.Context, timeout time.Duration) error {
	return k.base().locked(func() error { return k.uninstall(ctx, timeout) })
}

func (k *KubeletInstaller) uninstall(ctx context.Context, timeout time.Duration) error {
	if err := k.recover(ctx, timeout); err != nil {
		return err
	}
	if !k.Installed() {
		k.progress().say("Nothing had to be changed: the kubelet of this host is not behind a proxy of ours.")
		return nil
	}
	k.progress().say("Taking the kubelet of this host out from behind kubelet-auth-proxy")
	for _, s := range k.uninstallSteps(timeout) {
		if _, err := k.progress().step(s.name, func() (bool, error) { return s.run(ctx) }); err != nil {
			return fmt.Errorf("%s: %w\nwhat is done stays done: run `bulkhead node uninstall` again", s.name, err)
		}
	}
	k.progress().say("The kubelet listens as it did.")
	return nil
}

// Installed reports whether anything of ours is on this node.
func (k *KubeletInstaller) Installed() bool {
	for _, path := range append(k.Layout.renewal(), k.Layout.Node(), k.Layout.KubeletProxy(), k.Layout.KubeletUnit()) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// uninstallSteps begin with the kubelet: until it is back on its own address, with its
// own authentication, its proxy stands before it and its certificate is renewed.
func (k *KubeletInstaller) uninstallSteps(timeout time.Duration) []step {
	return []step{
		{"restart the kubelet as it was", func(ctx context.Context) (bool, error) {
			return true, k.reopen(ctx, timeout, k.unguard)
		}},
		{"stop the renewal of the proxy's certificate", func(ctx context.Context) (bool, error) {
			k.stopRenewal(ctx)
			changed, err := removeFiles(k.Layout.renewal()...)
			if err != nil || !changed {
				return changed, err
			}
			_, err = k.Host.Systemctl(ctx, "daemon-reload")
			return changed, err
		}},
		// Last: as long as it is there, a run that was cut off is repeated.
		{"remove " + k.Layout.Node(), func(context.Context) (bool, error) {
			err := os.RemoveAll(k.Layout.Node())
			k.removeIfEmpty()
			return true, err
		}},
	}
}

// unguard takes away what has the kubelet listen to its proxy only, and without which the
// proxy does not start again.
func (k *KubeletInstaller) unguard(ctx context.Context) error {
	if _, err := removeFiles(k.Layout.KubeletUnit()); err != nil {
		return err
	}
	if _, err := k.Host.Systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	return os.RemoveAll(k.Layout.KubeletProxy())
}

func removeFiles(paths ...string) (changed bool, err error) {
	for _, path := range paths {
		_, err := os.Stat(path)
		changed = changed || err == nil
		if err := atomicfile.Remove(path); err != nil {
			return changed, err
		}
	}
	return changed, nil
}
