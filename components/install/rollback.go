// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// giveUp takes everything back and says why.
func (in *Installer) giveUp(cause error, j *journal.Journal, o Options) error {
	in.progress().say("Putting the old state back")
	// The context may be what ended: the way back has a time of its own.
	if err := in.rollback(context.Background(), o.Timeout, j); err != nil {
		return fmt.Errorf("%w\nTHE OLD STATE IS NOT BACK YET: %w\nrun `bulkhead uninstall` on this host; if that fails too, %s is kube-apiserver's manifest without us",
			cause, err, in.Layout.originalManifest())
	}
	return fmt.Errorf("%w\nthe old state is back: nothing has been changed", cause)
}

// recover plays back the journal of a run that was killed.
func (in *Installer) recover(ctx context.Context, timeout time.Duration) error {
	j, err := journal.Open(in.Layout.journal())
	if err != nil || j == nil {
		return err
	}
	in.progress().say("An earlier run (%s) was interrupted: putting back what was before it", j.Operation)
	return in.rollback(ctx, timeout, j)
}

// rollback first gives every file that there was its old content, and with it
// the old API server; what was added goes only when nothing can need it any more.
func (in *Installer) rollback(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	if err := in.restoreFiles(j); err != nil {
		return err
	}
	if touched(j, in.Layout.APIServerManifest()) || hasObjects(j) {
		if err := in.waitRestored(ctx, timeout); err != nil {
			return err
		}
	}
	var errs []error
	for _, e := range slices.Backward(j.Entries) {
		_, err := in.progress().step("take back "+e.Name, func() (bool, error) { return true, in.takeBack(ctx, j, e) })
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	err := j.End()
	in.removeIfEmpty()
	return err
}

func (in *Installer) restoreFiles(j *journal.Journal) error {
	for _, e := range j.Entries {
		if e.Kind != journal.KindFile || e.Backup == "" {
			continue
		}
		if _, err := in.progress().step("restore "+e.Name, func() (bool, error) { return in.restore(j, e) }); err != nil {
			return err
		}
	}
	return nil
}

// waitRestored waits for the API server that the restored files describe.
func (in *Installer) waitRestored(ctx context.Context, timeout time.Duration) error {
	right, err := in.described()
	if err != nil {
		return err
	}
	_, err = in.progress().step("wait until the old kube-apiserver serves", func() (bool, error) {
		return true, in.waitOldServer(ctx, timeout, right)
	})
	return err
}

// removeIfEmpty removes the directories that a first installation made. What
// holds a file stays: a record, or what somebody else keeps there.
func (in *Installer) removeIfEmpty() {
	_ = os.Remove(in.Layout.state())
	_ = os.Remove(in.Layout.State)
}

func touched(j *journal.Journal, path string) bool {
	return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Name == path })
}

func hasObjects(j *journal.Journal) bool {
	return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Kind == journal.KindObject })
}
