// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/hostfs"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// giveUp takes everything back and says why.
func (in *Installer) giveUp(cause error, j *journal.Journal, o Options) error {
	in.progress().say("Putting the old state back")
	// The context may be what ended: the way back has a time of its own.
	if err := in.rollback(context.Background(), o.Timeout, j); err != nil {
		return fmt.Errorf("%w\nTHE OLD STATE IS NOT BACK YET: %w\nrun `bulkhead uninstall` on this host; the kube-apiserver manifest from before is in %s",
			cause, err, in.Layout.State)
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
		if _, err := in.progress().step("restore "+e.Name, func() (bool, error) { return restore(j, e) }); err != nil {
			return err
		}
	}
	return nil
}

// restore leaves alone what is back already: a rewritten manifest could restart
// a server for nothing.
func restore(j *journal.Journal, e journal.Entry) (changed bool, err error) {
	before, err := j.Before(e)
	if err != nil {
		return false, err
	}
	want := hostfs.File{Data: before, Mode: e.Mode, UID: e.UID, GID: e.GID}
	if have, exists, err := hostfs.Read(e.Name); err == nil && exists && hostfs.Same(have, want) {
		return false, nil
	}
	return true, j.Restore(e)
}

// waitRestored waits for the API server that the restored files describe.
func (in *Installer) waitRestored(ctx context.Context, timeout time.Duration) error {
	config, err := in.describedConfig()
	if err != nil {
		return err
	}
	_, err = in.progress().step("wait until the old kube-apiserver serves", func() (bool, error) {
		return true, in.waitOldServer(ctx, timeout, config)
	})
	return err
}

// describedConfig is the hash of the authorization file that kube-apiserver's
// manifest names; empty if it names none of ours.
func (in *Installer) describedConfig() (string, error) {
	data, err := os.ReadFile(in.Layout.APIServerManifest())
	if err != nil {
		return "", err
	}
	manifest, err := apiserver.Parse(data)
	if err != nil || !manifest.Wired(in.Layout.AuthorizationConfig()) {
		return "", err
	}
	config, err := os.ReadFile(in.Layout.AuthorizationConfig())
	return hash(config), err
}

func (in *Installer) takeBack(ctx context.Context, j *journal.Journal, e journal.Entry) error {
	switch {
	case e.Kind == journal.KindObject:
		return in.takeBackObject(ctx, j, e)
	case e.Backup == "":
		return j.Restore(e)
	}
	return nil
}

func (in *Installer) takeBackObject(ctx context.Context, j *journal.Journal, e journal.Entry) error {
	if e.Name == objectKubeadm {
		before, err := j.Before(e)
		if err != nil {
			return err
		}
		return in.API.SetKubeadmConfig(ctx, string(before))
	}
	objects, err := rbacObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if strings.TrimPrefix(e.Name, objectRBAC) == object.GetKind()+"/"+object.GetName() {
			return in.API.Delete(ctx, object)
		}
	}
	return nil
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
