// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// giveUp takes everything back and says why.
func (k *KubeletInstaller) giveUp(cause error, j *journal.Journal, o KubeletOptions) error {
	k.progress().say("Putting the old state back")
	// The context may be what ended: the way back has a time of its own.
	if err := k.rollback(context.Background(), o.Timeout, j); err != nil {
		return fmt.Errorf("%w\nTHE OLD STATE IS NOT BACK YET: %w\nrun `bulkhead node uninstall` on this host; if that "+
			"fails too, remove %s, then `systemctl daemon-reload` and `systemctl restart kubelet`",
			cause, err, k.Layout.KubeletUnit())
	}
	return fmt.Errorf("%w\nthe old state is back: nothing has been changed", cause)
}

// recover plays back the journal of a run that was killed.
func (k *KubeletInstaller) recover(ctx context.Context, timeout time.Duration) error {
	j, err := journal.Open(k.Layout.nodeJournal())
	if err != nil || j == nil {
		return err
	}
	k.progress().say("An earlier run (%s) was interrupted: putting back what was before it", j.Operation)
	return k.rollback(ctx, timeout, j)
}

// rollback gives every file its old content, and the kubelet with them.
func (k *KubeletInstaller) rollback(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	if isNew(j, k.Layout.RenewTimer()) || isNew(j, k.Layout.RenewPath()) {
		k.stopRenewal(ctx)
	}
	if err := k.takeBack(ctx, timeout, j); err != nil {
		return err
	}
	err := j.End()
	k.removeIfEmpty()
	return err
}

func (k *KubeletInstaller) takeBack(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	files := func(ctx context.Context) error { return k.takeBackFiles(ctx, j) }
	switch {
	case isNew(j, k.Layout.KubeletUnit()):
		_, err := k.progress().step("restart the kubelet as it was, without the proxy",
			func() (bool, error) { return true, k.reopen(ctx, timeout, files) })
		return err
	case !touched(j, k.Layout.KubeletUnit()) && !touched(j, k.Layout.KubeletDropIn()):
		return files(ctx)
	}
	if err := files(ctx); err != nil {
		return err
	}
	_, err := k.progress().step("restart the kubelet as it was, behind the proxy", func() (bool, error) {
		if err := k.whole(ctx, "restart"); err != nil {
			return true, err
		}
		return true, k.waitClosed(ctx, timeout)
	})
	return err
}

func (k *KubeletInstaller) takeBackFiles(ctx context.Context, j *journal.Journal) error {
	var errs []error
	for _, e := range slices.Backward(j.Entries) {
		_, err := k.progress().step("take back "+e.Name, func() (bool, error) { return true, j.Restore(e) })
		errs = append(errs, err)
	}
	if slices.ContainsFunc(append(k.Layout.renewal(), k.Layout.KubeletUnit()),
		func(unit string) bool { return touched(j, unit) }) {
		_, err := k.Host.Systemctl(ctx, "daemon-reload")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
