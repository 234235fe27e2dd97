// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// restore does not write a file that already has its old content. A new write could restart a
// server without need.
func (in *Installer) restore(j *journal.Journal, e journal.Entry) (changed bool, err error) {
	before, err := j.Before(e)
	if err != nil {
		return false, err
	}
	want := atomicfile.File{Data: before, Mode: e.Mode, UID: e.UID, GID: e.GID}
	have, exists, err := atomicfile.Read(e.Name)
	if err == nil && exists && atomicfile.Same(have, want) {
		return false, nil
	}
	// A journal can be found long after its run was killed. Of the files in it, only this one is
	// written by other programs.
	if err == nil && exists && e.Name == in.Layout.APIServerManifest() && !e.Wrote(have.Data) &&
		!bytes.Equal(have.Data, before) {
		if done, changed, err := in.unwireLater(have, before); done {
			return changed, err
		}
	}
	return true, j.Restore(e)
}

// unwireLater removes Bulkhead's edits from a manifest that another program has written since. The
// saved manifest would also undo an upgrade. done is false if one of the two manifests cannot be
// parsed.
func (in *Installer) unwireLater(have atomicfile.File, before []byte) (done, changed bool, err error) {
	old, err := apiserver.Parse(before)
	if err != nil {
		return false, false, nil
	}
	if old.Wired(in.Layout.AuthorizationConfig()) || old.AdmissionWired(in.Layout.AdmissionConfig()) {
		in.Note("kube-apiserver's manifest was changed since then: it stays as it is")
		return true, false, nil
	}
	unwired, err := apiserver.Unwire(have.Data, unwiring(in.Layout),
		apiserver.Before{Modes: old.Modes(), Before: old.Admission()})
	if err != nil {
		return false, false, nil
	}
	in.Note("kube-apiserver's manifest was changed since then: Bulkhead's edits are taken out of it, " +
		"the rest is kept")
	if bytes.Equal(unwired, have.Data) {
		return true, false, nil
	}
	have.Data = unwired
	return true, true, atomicfile.Write(in.Layout.APIServerManifest(), have, in.Layout.Journal())
}

func (in *Installer) revert(ctx context.Context, j *journal.Journal, e journal.Entry) error {
	switch {
	case e.Kind == journal.KindObject && e.Name == objectKubeadm:
		return in.revertKubeadm(ctx, j, e)
	case e.Kind == journal.KindObject && strings.HasPrefix(e.Name, objectEntry):
		return in.revertEntry(ctx, j, e)
	case e.Kind == journal.KindObject && e.Name == objectNamespace:
		return in.revertNamespace(ctx, j, e)
	case e.Kind == journal.KindObject:
		return in.revertObject(ctx, j, e)
	case e.Backup == "":
		return j.Restore(e)
	}
	return nil
}
