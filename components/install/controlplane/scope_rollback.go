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

// revertScope is the first thing on the way back from a run that switched node scope
// on: nobody is to add an account any more, and nobody is to be asked about one when the
// components are told to answer no more.
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
		// A first installation has no file to go back to, and its server goes first.
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

// endAddedScopeSync has the kubelet end a scope-sync that the run has added, before the
// lists are put back: one that is just writing could put its own in their place. It is
// waited for where a server reads the lists that come back, as long as that answers: one
// that does not must not wait for its way back.
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

// scopeComesLate is true on the way back from a run that switched node scope off: the
// components have to know again how to answer before they are asked. Where the server
// restarts as well, it starts with the file that belongs to it.
func (in *Installer) scopeComesLate(j *journal.Journal) bool {
	removed := slices.ContainsFunc(j.Entries, func(e journal.Entry) bool {
		return e.Name == in.Layout.ScopeRegistration() && e.Backup != ""
	})
	return removed && !atomicfile.Exists(in.Layout.ScopeRegistration()) && !j.Touched(in.Layout.APIServerManifest())
}
