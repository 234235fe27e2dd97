// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// Uninstall restores the API server to its state before the first installation. Then it removes all
// of Bulkhead's files and objects. It depends on no part of Bulkhead, and can be repeated until it
// succeeds.
func (in *Installer) Uninstall(ctx context.Context, timeout time.Duration) error {
	return in.LockedWithin(ctx, engine.Patience, func() error {
		return in.lockedForAllHosts(ctx, timeout, func(*hosts.Lock) error { return in.uninstall(ctx, timeout) })
	})
}

func (in *Installer) uninstall(ctx context.Context, timeout time.Duration) error {
	if err := in.transaction(timeout).Recover(ctx); err != nil {
		return err
	}
	here, err := in.installedHere()
	if err != nil {
		return err
	}
	if !here {
		return in.uninstallLeftovers(ctx)
	}
	record, err := ReadRecord(in.Layout)
	if err != nil {
		return err
	}
	if record == nil {
		record = in.guessRecord(ctx)
	}
	if err := in.checkConfigFile(record.APIServer); err != nil {
		return err
	}
	in.Logf("Removing Bulkhead from this control-plane host")
	changed, err := in.RunAll(ctx, in.uninstallSteps(record, timeout))
	if err != nil {
		return fmt.Errorf("%w\nthe steps before it are done: run `bulkhead uninstall` again", err)
	}
	if !changed {
		in.Logf("Nothing had to be changed: nothing of Bulkhead is installed.")
		return nil
	}
	in.Logf("Bulkhead is removed: kube-apiserver has its old authorizers and its old admission.")
	return nil
}

func (in *Installer) uninstallSteps(record *Record, timeout time.Duration) []engine.Step {
	return []engine.Step{
		// This comes first: kubeadm must not write the names of files that are about to be removed.
		{Name: "restore ConfigMap kubeadm-config",
			Apply: func(ctx context.Context) (bool, error) { return in.tryRestoreKubeadm(ctx, record.Kubeadm) }},
		{Name: "take node-restriction out of the API", Apply: in.tryUnregister},
		{Name: "restore kube-apiserver's manifest",
			Apply: func(context.Context) (bool, error) { return in.restoreManifest(record.APIServer) }},
		engine.Wait("wait until kube-apiserver serves as it did", func(ctx context.Context) error {
			described, err := in.described()
			if err != nil {
				return err
			}
			return in.waitOldServer(ctx, timeout, described)
		}),
		// The steps before also start a server that failed because of one of Bulkhead's files.
		{Name: "take node-restriction out of the API, if it is still there", Apply: in.unregisterStep},
		{Name: "remove this host from ConfigMap " + hosts.ConfigMapName,
			Apply: func(ctx context.Context) (bool, error) { return in.removeEntry(ctx, record.Kubeadm) }},
		{Name: "close namespace kube-system to mirror pods again", Apply: in.closeNamespace},
		{Name: "remove kubelet-auth-proxy from the nodes", Apply: in.deleteGuards},
		{Name: "remove the components' API objects", Apply: in.deleteObjects},
		{Name: "remove the static pods", Apply: in.removePods},
		engine.Wait("wait until the kubelet has ended them",
			func(ctx context.Context) error { return in.waitEnded(ctx, timeout) }),
		{Name: "remove " + in.Layout.State, Apply: in.removeState},
		{Name: "remove directories that a late container has made again",
			Apply: func(context.Context) (bool, error) { return in.removeReturned(), nil }},
	}
}

// restoreManifest writes kube-apiserver's manifest without Bulkhead.
func (in *Installer) restoreManifest(edit Edit) (changed bool, err error) {
	path := in.Layout.APIServerManifest()
	current, exists, err := atomicfile.Read(path)
	if err != nil {
		return false, err
	}
	if !exists {
		return false, fmt.Errorf(
			"%s does not exist: this is not a kubeadm control-plane host, or kube-apiserver has been stopped by moving it away",
			path)
	}
	restored, drifted := current, false
	if restored.Data, drifted, err = in.unwiredManifest(current, edit); err != nil {
		return false, err
	}
	if atomicfile.Same(current, restored) {
		return false, nil
	}
	if drifted {
		in.Note("the manifest was changed after Bulkhead wrote it: Bulkhead's edits are removed from it, " +
			"the rest is kept")
	}
	// The directory may be missing if a user removed it while the server still used it.
	if err := os.MkdirAll(in.Layout.State, 0o700); err != nil {
		return false, err
	}
	return true, atomicfile.Write(path, restored, in.Layout.State)
}

// unwiredManifest returns the saved bytes if the manifest has not changed since Bulkhead wrote it.
// Otherwise it removes Bulkhead's edits from the current manifest. drifted is true if there are saved
// bytes that are out of date.
func (in *Installer) unwiredManifest(current atomicfile.File, edit Edit) (manifest []byte, drifted bool, err error) {
	original, saved, err := atomicfile.Read(in.Layout.OriginalManifest())
	if err != nil {
		return nil, false, err
	}
	if saved && !edit.Drifted && journal.Hash(current.Data) == edit.Written {
		return original.Data, false, nil
	}
	manifest, err = apiserver.Unwire(current.Data, unwiring(in.Layout), edit.server())
	return manifest, saved, err
}

func (in *Installer) removePods(context.Context) (changed bool, err error) {
	return atomicfile.RemoveAll(in.Layout.ComponentManifests()...)
}

// removeState removes Bulkhead's directories by name. It removes their parent only if it is then
// empty. So a wrong --state-dir cannot delete other files.
func (in *Installer) removeState(context.Context) (changed bool, err error) {
	if _, err := os.Stat(in.Layout.State); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, dir := range in.Layout.ComponentDirs() {
		_, err := os.Stat(dir)
		changed = changed || err == nil
		if err := os.RemoveAll(dir); err != nil {
			return true, err
		}
	}
	if err := atomicfile.Sweep(in.Layout.State); err != nil {
		return true, err
	}
	if err = os.Remove(in.Layout.State); errors.Is(err, syscall.ENOTEMPTY) {
		// Directories that were created again belong to Bulkhead.
		if in.removeReturned(); !atomicfile.Exists(in.Layout.State) {
			return true, nil
		}
		if _, err := os.Stat(in.Layout.Node()); err == nil {
			in.Note("%s stays: the kubelet of this host is behind kubelet-auth-proxy. Run `bulkhead node "+
				"uninstall` too", in.Layout.State)
			return changed, nil
		}
		if atomicfile.Exists(in.Layout.KubeletProxy()) {
			in.Note("%s stays: the kubelet has created a directory in it for the pod of kubelet-auth-proxy. Remove it when "+
				"that pod has ended", in.Layout.State)
			return changed, nil
		}
		in.Note("%s stays: Bulkhead does not own all files in it", in.Layout.State)
		return changed, nil
	}
	return true, err
}

// installedHere reports whether this host has anything of Bulkhead to remove. API objects do not
// count, because other hosts may need them.
func (in *Installer) installedHere() (bool, error) {
	for _, path := range append(in.Layout.ComponentManifests(), ownState(in.Layout)) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	manifest, exists, err := atomicfile.Read(in.Layout.APIServerManifest())
	if err != nil || !exists {
		return err == nil, err
	}
	unwired, err := apiserver.Unwire(manifest.Data, unwiring(in.Layout), apiserver.KubeadmDefault)
	return !bytes.Equal(unwired, manifest.Data), err
}

// ownState returns the state directory, if it has more than the files of `bulkhead node install`.
// Otherwise it returns a path that does not exist.
func ownState(l host.Layout) string {
	entries, err := os.ReadDir(l.State)
	if err != nil || len(entries) == 0 {
		return l.State
	}
	for _, e := range entries {
		if name := filepath.Join(l.State, e.Name()); name != l.Node() && name != l.KubeletProxy() {
			return l.State
		}
	}
	return l.Records()
}
