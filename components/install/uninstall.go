// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

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
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// Uninstall puts the API server back to what it was before the first
// installation, then removes everything of ours. It needs nothing of ours to
// work, and can be repeated until it succeeds.
func (in *Installer) Uninstall(ctx context.Context, timeout time.Duration) error {
	return in.locked(func() error { return in.uninstall(ctx, timeout) })
}

func (in *Installer) uninstall(ctx context.Context, timeout time.Duration) error {
	if err := in.recover(ctx, timeout); err != nil {
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
		record = &Record{
			APIServer: Edit{Modes: apiserver.KubeadmDefault.Modes, Admission: apiserver.KubeadmDefault.Before, Drifted: true},
			Kubeadm:   Edit{Drifted: true},
		}
	}
	in.progress().say("Removing Bulkhead from this control-plane host")
	anything := false
	for _, s := range in.uninstallSteps(record, timeout) {
		changed, err := in.progress().step(s.name, func() (bool, error) { return s.run(ctx) })
		if err != nil {
			return fmt.Errorf("%s: %w\nwhat is done stays done: run `bulkhead uninstall` again", s.name, err)
		}
		anything = anything || changed
	}
	if !anything {
		in.progress().say("Nothing had to be changed: nothing of Bulkhead is installed.")
		return nil
	}
	in.progress().say("Bulkhead is removed: kube-apiserver has its old authorizers and its old admission.")
	return nil
}

func (in *Installer) uninstallSteps(record *Record, timeout time.Duration) []step {
	return []step{
		{"restore kube-apiserver's manifest",
			func(context.Context) (bool, error) { return in.restoreManifest(record.APIServer) }},
		{"wait until kube-apiserver serves as it did", func(ctx context.Context) (bool, error) {
			right, err := in.described()
			if err != nil {
				return false, err
			}
			return false, in.waitOldServer(ctx, timeout, right)
		}},
		// After the server is back: one that does not come up for a file of ours is
		// brought up by the steps before. The component still answers.
		{"take node-restriction out of the API", in.unregisterStep},
		{"restore ConfigMap kubeadm-config",
			func(ctx context.Context) (bool, error) { return in.restoreKubeadm(ctx, record.Kubeadm) }},
		{"close namespace kube-system to mirror pods again", in.closeNamespace},
		{"remove kubelet-auth-proxy from the nodes", in.deleteGuards},
		{"remove the components' RBAC and memory", in.deleteRBAC},
		{"remove the static pods", in.removePods},
		{"wait until the kubelet has ended them",
			func(ctx context.Context) (bool, error) { return false, in.waitEnded(ctx, timeout) }},
		{"remove " + in.Layout.State, in.removeState},
		{"look once more for what has come back", func(context.Context) (bool, error) { return in.removeReturned(), nil }},
	}
}

// restoreManifest puts back the saved bytes if nobody else has changed the
// manifest since we wrote it, and else takes our edits back.
func (in *Installer) restoreManifest(edit Edit) (changed bool, err error) {
	path := in.Layout.APIServerManifest()
	current, exists, err := atomicfile.Read(path)
	if err != nil {
		return false, err
	}
	if !exists {
		return false, fmt.Errorf(
			"%s does not exist: this is no kubeadm control-plane host, or kube-apiserver has been stopped by moving it away",
			path)
	}
	restored := current
	original, saved, err := atomicfile.Read(in.Layout.originalManifest())
	if err != nil {
		return false, err
	}
	ours := saved && !edit.Drifted && hash(current.Data) == edit.Written
	if ours {
		restored.Data = original.Data
	} else if restored.Data, err = apiserver.Unwire(current.Data, in.Layout.unwiring(), edit.server()); err != nil {
		return false, err
	}
	if atomicfile.Same(current, restored) {
		return false, nil
	}
	if saved && !ours {
		in.progress().note("the manifest was changed by somebody else since we wrote it: our edits are taken out of it, " +
			"the rest is kept")
	}
	// The directory is there unless somebody removed it under a wired server.
	if err := os.MkdirAll(in.Layout.State, 0o700); err != nil {
		return false, err
	}
	return true, atomicfile.Write(path, restored, in.Layout.State)
}

func (in *Installer) restoreKubeadm(ctx context.Context, edit Edit) (changed bool, err error) {
	current, err := in.API.KubeadmConfig(ctx)
	if err != nil || current == "" {
		return false, err
	}
	others, err := in.elsewhere(ctx)
	if err != nil {
		return false, err
	}
	if others != "" {
		in.progress().note("our components run on %s too: kubeadm-config goes on naming them. `kubeadm upgrade` on this "+
			"host would write it into the manifest again: uninstall the other hosts first", others)
		return false, nil
	}
	original, saved, err := atomicfile.Read(in.Layout.originalKubeadm())
	if err != nil {
		return false, err
	}
	restored := string(original.Data)
	if !saved || edit.Drifted || hash([]byte(current)) != edit.Written {
		if restored, err = kubeadmconfig.Unwire(current, in.Layout.kubeadmWiring(InTree, false), edit.kubeadm()); err != nil {
			return false, err
		}
	}
	if restored == current {
		return false, nil
	}
	return true, in.API.SetKubeadmConfig(ctx, restored)
}

func (in *Installer) removePods(context.Context) (changed bool, err error) {
	for _, path := range in.Layout.ourManifests() {
		_, err := os.Stat(path)
		changed = changed || err == nil
		if err := atomicfile.Remove(path); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// removeState removes our own directories by name, and the one that holds them
// only if nothing else is in it: a mistyped --state-dir must cost nobody a file.
func (in *Installer) removeState(context.Context) (changed bool, err error) {
	if _, err := os.Stat(in.Layout.State); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, dir := range in.Layout.ourDirs() {
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
		// What has come back meanwhile is not somebody else's.
		if in.removeReturned(); !exists(in.Layout.State) {
			return true, nil
		}
		if _, err := os.Stat(in.Layout.Node()); err == nil {
			in.progress().note("%s stays: the kubelet of this host is behind kubelet-auth-proxy. Run `bulkhead node "+
				"uninstall` too", in.Layout.State)
			return changed, nil
		}
		in.progress().note("%s stays: there are files in it that are not ours", in.Layout.State)
		return changed, nil
	}
	return true, err
}

// installedHere reports whether there is anything of ours to remove from this
// host. What the API holds is no sign of it: other hosts may need that.
func (in *Installer) installedHere() (bool, error) {
	for _, path := range append(in.Layout.ourManifests(), in.Layout.ownState()) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	manifest, exists, err := atomicfile.Read(in.Layout.APIServerManifest())
	if err != nil || !exists {
		return err == nil, err
	}
	unwired, err := apiserver.Unwire(manifest.Data, in.Layout.unwiring(), apiserver.KubeadmDefault)
	return !bytes.Equal(unwired, manifest.Data), err
}

// ownState is the directory that holds everything of ours, if it holds more than what
// `bulkhead node install` keeps there, and one that does not exist otherwise.
func (l Layout) ownState() string {
	entries, err := os.ReadDir(l.State)
	if err != nil || len(entries) == 0 {
		return l.State
	}
	for _, e := range entries {
		if name := filepath.Join(l.State, e.Name()); name != l.Node() && name != l.KubeletProxy() {
			return l.State
		}
	}
	return l.state()
}
