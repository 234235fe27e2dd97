// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// takeBackScope is the first thing on the way back from a run that switched node scope
// on: nobody is to be asked about accounts any more when the components are told to
// answer no more, and nobody is to add one.
func (in *Installer) takeBackScope(j *journal.Journal) error {
	added := func(path string) bool {
		return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Name == path && e.Backup == "" })
	}
	if !added(in.Layout.ScopeRegistration()) {
		return nil
	}
	for _, e := range j.Entries {
		switch {
		case e.Name == in.Layout.ScopeSyncManifest() && added(e.Name), e.Name == in.Layout.ScopeRegistration():
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

// scopeComesLate is true on the way back from a run that switched node scope off: the
// components have to know again how to answer before they are asked. Where the server
// restarts as well, it starts with the file that belongs to it.
func (in *Installer) scopeComesLate(j *journal.Journal) bool {
	removed := slices.ContainsFunc(j.Entries, func(e journal.Entry) bool {
		return e.Name == in.Layout.ScopeRegistration() && e.Backup != ""
	})
	return removed && !exists(in.Layout.ScopeRegistration()) && !touched(j, in.Layout.APIServerManifest())
}
