// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// revertScope is the first step of a rollback from a run that switched node scope on. Afterwards,
// scope-sync adds no more accounts, and kube-apiserver asks no more about them. Only then may the
// components stop answering.
func (in *Installer) revertScope(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	if err := in.endAddedScopeSync(ctx, timeout, j); err != nil {
		return err
	}
	if !j.Added(in.Layout.ScopeRegistration()) {
		return nil
	}
	for _, e := range j.Entries {
		switch {
		case e.Name == in.Layout.ScopeRegistration():
		// A first installation has no old file. Its server is restored first.
		case e.Name == in.Layout.AuthorizationConfig() && e.Backup != "":
		default:
			continue
		}
		if err := j.Restore(e); err != nil {
			return err
		}
	}
	return nil
}

// endAddedScopeSync ends a scope-sync that the run has added, before the lists are restored.
// Otherwise a late write could overwrite them.
//
// It waits for the end of scope-sync only if the old authorization file is to be restored, and only
// while the server answers. A server that does not answer must not delay its own rollback. A
// timeout is not an error: the file is restored once more later.
func (in *Installer) endAddedScopeSync(ctx context.Context, timeout time.Duration, j *journal.Journal) error {
	if !j.Added(in.Layout.ScopeSyncManifest()) {
		return nil
	}
	if err := atomicfile.Remove(in.Layout.ScopeSyncManifest()); err != nil {
		return err
	}
	config := in.Layout.AuthorizationConfig()
	if !j.Touched(config) || j.Added(config) {
		return nil
	}
	_, err := in.Run(ctx, engine.Wait("wait until the kubelet has ended "+scope.SyncName, func(ctx context.Context) error {
		return in.Until(ctx, min(endingGrace, timeout), "the kubelet, to end "+scope.SyncName,
			func(ctx context.Context) error {
				if in.Server.Ready(ctx) != nil {
					return nil
				}
				return in.ended(ctx)
			})
	}))
	if err != nil && ctx.Err() == nil {
		in.Note("%v\n             what it may still write is put back once more when kube-apiserver is as it was",
			err)
		err = nil
	}
	return err
}

// scopeComesLate is true for a rollback from a run that switched node scope off. The components
// must be able to answer again before kube-apiserver asks them. If the server also restarts, it
// starts with its old file.
func (in *Installer) scopeComesLate(j *journal.Journal) bool {
	removed := slices.ContainsFunc(j.Entries, func(e journal.Entry) bool {
		return e.Name == in.Layout.ScopeRegistration() && e.Backup != ""
	})
	return removed && !atomicfile.Exists(in.Layout.ScopeRegistration()) && !j.Touched(in.Layout.APIServerManifest())
}
