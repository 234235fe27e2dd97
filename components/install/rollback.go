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
		return fmt.Errorf("%w\nTHE OLD STATE IS NOT BACK YET: %w\nrun `bulkhead uninstall` on this host; if that fails "+
			"too, %s is kube-apiserver's manifest without us",
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
	if err := in.takeBackScope(ctx, timeout, j); err != nil {
		return err
	}
	late := in.comeLate(j)
	if err := in.restoreFiles(j, func(e journal.Entry) bool { return slices.Contains(late, e.Name) }); err != nil {
		return err
	}
	if in.serverReads(j) || hasObjects(j) {
		if err := in.waitRestored(ctx, timeout); err != nil {
			return err
		}
	}
	if added(j, in.Layout.ScopeSyncManifest()) {
		// It may have written its list once more before it ended.
		late = append(late, in.Layout.AuthorizationConfig())
	}
	if err := in.restoreFiles(j, func(e journal.Entry) bool { return !slices.Contains(late, e.Name) }); err != nil {
		return err
	}
	if err := in.takeBackAll(ctx, timeout, j); err != nil {
		return err
	}
	err := j.End()
	in.removeIfEmpty()
	return err
}

// comeLate are the files that are not to be restored before what they make
// kube-apiserver ask, or no longer leave to others, is as it was.
func (in *Installer) comeLate(j *journal.Journal) []string {
	var late []string
	if in.registrationComesLate(j) {
		late = append(late, in.Layout.Registration())
	}
	if in.scopeComesLate(j) {
		late = append(late, in.Layout.AuthorizationConfig(), in.Layout.ScopeRegistration())
	}
	return late
}

// takeBackAll goes backwards, and keeps directories until nothing sees them any more.
func (in *Installer) takeBackAll(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	var errs []error
	seen := in.addedPods(j)
	for _, e := range slices.Backward(j.Entries) {
		if seen && e.Kind == journal.KindDir {
			seen = false
			_, err := in.progress().step("wait until the kubelet has ended the static pods",
				func() (bool, error) { return false, in.waitEnded(ctx, timeout) })
			errs = append(errs, err)
		}
		_, err := in.progress().step("take back "+e.Name, func() (bool, error) { return true, in.takeBack(ctx, j, e) })
		errs = append(errs, err)
	}
	for _, e := range slices.Backward(j.Entries) {
		if e.Kind == journal.KindDir {
			_ = os.Remove(e.Name) // made anew since, and empty
		}
	}
	return errors.Join(errs...)
}

// restoreFiles leaves out what is to be left as it is now.
func (in *Installer) restoreFiles(j *journal.Journal, leave func(journal.Entry) bool) error {
	for _, e := range j.Entries {
		if e.Kind != journal.KindFile || e.Backup == "" || leave(e) {
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

// serverReads is true if a run has changed what kube-apiserver reads while it runs.
func (in *Installer) serverReads(j *journal.Journal) bool {
	return slices.ContainsFunc(
		[]string{in.Layout.APIServerManifest(), in.Layout.AuthorizationConfig(), in.Layout.Registration(),
			in.Layout.ScopeRegistration()},
		func(path string) bool { return touched(j, path) })
}

func touched(j *journal.Journal, path string) bool {
	return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Name == path })
}

func hasObjects(j *journal.Journal) bool {
	return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Kind == journal.KindObject })
}
