// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// rollback first restores the old content of every file that existed, and so the old API server. It
// removes what was added only when nothing can need it any more.
func (in *Installer) rollback(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	if err := in.revertScope(ctx, timeout, j); err != nil {
		return err
	}
	late := in.comeLate(j)
	if err := in.restoreFiles(ctx, j, func(e journal.Entry) bool { return slices.Contains(late, e.Name) }); err != nil {
		return err
	}
	// A host that is being prepared has no API server yet.
	noServer := j.Operation == prepareOperation && !atomicfile.Exists(in.Layout.APIServerManifest())
	if !noServer && (in.serverReads(j) || hasObjects(j)) {
		if err := in.waitRestored(ctx, timeout); err != nil {
			return err
		}
	}
	if j.Added(in.Layout.ScopeSyncManifest()) {
		// scope-sync may have written its list once more before it ended.
		late = append(late, in.Layout.AuthorizationConfig())
	}
	if err := in.restoreFiles(ctx, j, func(e journal.Entry) bool { return !slices.Contains(late, e.Name) }); err != nil {
		return err
	}
	// kubeadm must not name files that are about to be removed. If this fails, the files stay.
	for _, e := range slices.Backward(j.Entries) {
		if e.Kind == journal.KindObject && e.Name == objectKubeadm {
			if err := in.revertKubeadm(ctx, j, e); err != nil {
				return fmt.Errorf("cannot restore ConfigMap kubeadm-config: %w", err)
			}
		}
	}
	if err := in.revertAll(ctx, timeout, j); err != nil {
		return err
	}
	err := j.End()
	in.removeIfEmpty()
	return err
}

// comeLate returns the files that are restored last. They change which requests kube-apiserver
// sends to Bulkhead's components. First, the old server or the old components must run again: the
// server has the in-tree plugin that takes over, and the components answer the requests.
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

// revertAll reverts the entries in reverse order. It removes directories only when no pod uses
// them.
func (in *Installer) revertAll(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	revert := func(ctx context.Context, e journal.Entry) error { return in.revert(ctx, j, e) }
	dirs := 0
	if in.addedPods(j) {
		dirs = len(j.Entries)
	}
	for dirs > 0 && j.Entries[dirs-1].Kind != journal.KindDir {
		dirs--
	}
	err := in.RestoreAll(ctx, j.Entries[dirs:], revert)
	if dirs > 0 {
		_, ended := in.Run(ctx, engine.Wait("wait until the kubelet has ended the static pods",
			func(ctx context.Context) error { return in.waitEnded(ctx, timeout) }))
		err = errors.Join(err, ended, in.RestoreAll(ctx, j.Entries[:dirs], revert))
	}
	for _, e := range slices.Backward(j.Entries) {
		if e.Kind == journal.KindDir {
			_ = os.Remove(e.Name) // a container may have created it again, empty
		}
	}
	return err
}

// restoreFiles restores every file that existed, except those for which leave returns true.
func (in *Installer) restoreFiles(ctx context.Context, j *journal.Journal, leave func(journal.Entry) bool) error {
	for _, e := range j.Entries {
		if e.Kind != journal.KindFile || e.Backup == "" || leave(e) {
			continue
		}
		if _, err := in.Run(ctx, engine.Step{Name: "restore " + e.Name,
			Apply: func(context.Context) (bool, error) { return in.restore(j, e) }}); err != nil {
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
	_, err = in.Run(ctx, engine.Wait("wait until the old kube-apiserver serves",
		func(ctx context.Context) error { return in.waitOldServer(ctx, timeout, right) }))
	return err
}

// removeIfEmpty removes the directories that a first installation created. A directory with a file
// stays: the file may be a record, or belong to another program.
func (in *Installer) removeIfEmpty() {
	_ = os.Remove(in.Layout.Records())
	_ = os.Remove(in.Layout.State)
}

// serverReads is true if a run has changed a file that kube-apiserver reads while it runs.
func (in *Installer) serverReads(j *journal.Journal) bool {
	return slices.ContainsFunc(
		[]string{in.Layout.APIServerManifest(), in.Layout.AuthorizationConfig(), in.Layout.Registration(),
			in.Layout.ScopeRegistration()},
		j.Touched)
}

func hasObjects(j *journal.Journal) bool {
	return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Kind == journal.KindObject })
}
