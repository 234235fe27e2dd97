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
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/hostfs"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
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
		in.progress().say("Nothing had to be changed: nothing of Bulkhead is on this host.")
		return nil
	}
	record, err := ReadRecord(in.Layout)
	if err != nil {
		return err
	}
	if record == nil {
		record = &Record{APIServer: Edit{Modes: apiserver.DefaultModes, Drifted: true}, Kubeadm: Edit{Drifted: true}}
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
	in.progress().say("Bulkhead is removed: kube-apiserver has its old authorizers.")
	return nil
}

func (in *Installer) uninstallSteps(record *Record, timeout time.Duration) []step {
	return []step{
		{"restore kube-apiserver's manifest", func(context.Context) (bool, error) { return in.restoreManifest(record.APIServer) }},
		{"wait until kube-apiserver serves with its old authorizers", func(ctx context.Context) (bool, error) {
			right, err := in.described()
			if err != nil {
				return false, err
			}
			return false, in.waitOldServer(ctx, timeout, right)
		}},
		{"restore ConfigMap kubeadm-config", func(ctx context.Context) (bool, error) { return in.restoreKubeadm(ctx, record.Kubeadm) }},
		{"remove the node authorizer's RBAC", in.deleteRBAC},
		{"remove the static pods", in.removePods},
		{"remove " + in.Layout.State, in.removeState},
	}
}

// restoreManifest puts back the saved bytes if nobody else has changed the
// manifest since we wrote it, and else takes our edits back.
func (in *Installer) restoreManifest(edit Edit) (changed bool, err error) {
	path := in.Layout.APIServerManifest()
	current, exists, err := hostfs.Read(path)
	if err != nil {
		return false, err
	}
	if !exists {
		return false, fmt.Errorf("%s does not exist: this is no kubeadm control-plane host, or kube-apiserver has been stopped by moving it away", path)
	}
	restored := current
	original, saved, err := hostfs.Read(in.Layout.originalManifest())
	if err != nil {
		return false, err
	}
	ours := saved && !edit.Drifted && hash(current.Data) == edit.Written
	if ours {
		restored.Data = original.Data
	} else if restored.Data, err = apiserver.Unwire(current.Data, in.Layout.wiring(""), edit.Modes); err != nil {
		return false, err
	}
	if hostfs.Same(current, restored) {
		return false, nil
	}
	if saved && !ours {
		in.progress().note("the manifest was changed by somebody else since we wrote it: our edits are taken out of it, the rest is kept")
	}
	// The directory is there unless somebody removed it under a wired server.
	if err := os.MkdirAll(in.Layout.State, 0o700); err != nil {
		return false, err
	}
	return true, hostfs.Write(path, restored, in.Layout.State)
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
		in.progress().note("the node authorizer runs on %s too: kubeadm-config goes on naming it. `kubeadm upgrade` on this host would write it into the manifest again: uninstall the other hosts first", others)
		return false, nil
	}
	original, saved, err := hostfs.Read(in.Layout.originalKubeadm())
	if err != nil {
		return false, err
	}
	restored := string(original.Data)
	if !saved || edit.Drifted || hash([]byte(current)) != edit.Written {
		if restored, err = kubeadmconfig.Unwire(current, in.Layout.kubeadmWiring(), edit.Modes); err != nil {
			return false, err
		}
	}
	if restored == current {
		return false, nil
	}
	return true, in.API.SetKubeadmConfig(ctx, restored)
}

func (in *Installer) removePods(context.Context) (changed bool, err error) {
	for _, path := range []string{in.Layout.CertsManifest(), in.Layout.NodeAuthorizerManifest()} {
		_, err := os.Stat(path)
		changed = changed || err == nil
		if err := hostfs.Remove(path); err != nil {
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
	for _, dir := range []string{in.Layout.NodeAuthorizer(), in.Layout.APIServer(), in.Layout.PKI(), in.Layout.state()} {
		_, err := os.Stat(dir)
		changed = changed || err == nil
		if err := os.RemoveAll(dir); err != nil {
			return true, err
		}
	}
	if err := hostfs.Sweep(in.Layout.State); err != nil {
		return true, err
	}
	err = os.Remove(in.Layout.State)
	if errors.Is(err, syscall.ENOTEMPTY) {
		in.progress().note("%s stays: there are files in it that are not ours", in.Layout.State)
		return changed, nil
	}
	return true, err
}

// installedHere reports whether there is anything of ours to remove from this
// host. What the API holds is no sign of it: other hosts may need that.
func (in *Installer) installedHere() (bool, error) {
	for _, path := range []string{in.Layout.State, in.Layout.NodeAuthorizerManifest(), in.Layout.CertsManifest()} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	manifest, exists, err := hostfs.Read(in.Layout.APIServerManifest())
	if err != nil || !exists {
		return err == nil, err
	}
	unwired, err := apiserver.Unwire(manifest.Data, in.Layout.wiring(""), apiserver.DefaultModes)
	return !bytes.Equal(unwired, manifest.Data), err
}
