// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// rollback restores every file, and then the kubelet.
func (k *Installer) rollback(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	if j.Added(k.Layout.RenewTimer()) || j.Added(k.Layout.RenewPath()) {
		k.stopRenewal(ctx)
	}
	if err := k.revert(ctx, timeout, j); err != nil {
		return err
	}
	err := j.End()
	k.removeIfEmpty()
	return err
}

func (k *Installer) revert(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	files := func(ctx context.Context) error { return k.revertFiles(ctx, j) }
	switch {
	case j.Added(k.Layout.KubeletUnit()):
		_, err := k.Run(ctx, engine.Step{Name: "restart the kubelet as it was, without the proxy",
			Apply: func(ctx context.Context) (bool, error) { return true, k.reopen(ctx, timeout, files) }})
		return err
	case !j.Touched(k.Layout.KubeletUnit()) && !atomicfile.Exists(k.Layout.KubeletUnit()):
		// The run ended before it wrote the unit, so the kubelet does not read the drop-in.
		return files(ctx)
	case !j.Touched(k.Layout.KubeletUnit()) && !j.Touched(k.Layout.KubeletDropIn()):
		return files(ctx)
	}
	if err := files(ctx); err != nil {
		return err
	}
	_, err := k.Run(ctx, engine.Step{
		Name:  "restart the kubelet as it was, behind the proxy",
		Apply: func(ctx context.Context) (bool, error) { return true, k.whole(ctx, "restart") },
		Wait:  func(ctx context.Context) error { return k.waitClosed(ctx, timeout) },
	})
	return err
}

func (k *Installer) revertFiles(ctx context.Context, j *journal.Journal) error {
	err := k.RestoreAll(ctx, j.Entries, func(_ context.Context, e journal.Entry) error { return j.Restore(e) })
	// The restored bundle may be older than the proxy's certificate, which stays.
	_, bundled := k.keepBundle(false)
	err = errors.Join(err, bundled)
	if slices.ContainsFunc(append(k.Layout.RenewalUnits(), k.Layout.KubeletUnit()), j.Touched) {
		_, reloaded := k.System.Systemctl(ctx, "daemon-reload")
		err = errors.Join(err, reloaded)
	}
	return err
}

// removeIfEmpty removes the directories that a first installation created.
func (k *Installer) removeIfEmpty() {
	for _, dir := range []string{filepath.Dir(k.Layout.KubeletUnit()), k.Layout.Node(), k.Layout.State} {
		_ = os.Remove(dir)
	}
}
