// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// endingGrace is how long the installer waits for the kubelet to end removed static pods. It is
// short, because the kubelet may be stopped, or the API server may be down.
const endingGrace = time.Minute

// waitEnded waits until the kubelet has ended Bulkhead's static pods whose manifests are removed.
// The host directories of a pod must stay until then: if a container starts again, the runtime
// creates its directories again. If waitEnded cannot see the pods, it prints a note and returns no
// error.
func (in *Installer) waitEnded(ctx context.Context, timeout time.Duration) error {
	err := in.Until(ctx, min(endingGrace, timeout), "the kubelet, to end the static pods", in.ended)
	if err == nil || ctx.Err() != nil {
		return err
	}
	in.Note("%v\n             their directories are removed nevertheless; `bulkhead uninstall` again removes "+
		"what a container that starts late has made anew", err)
	return nil
}

// ended checks the mirror pods in the API. The kubelet removes a mirror pod after the pod has
// ended.
func (in *Installer) ended(ctx context.Context) error {
	var still []string
	for _, path := range in.Layout.ComponentManifests() {
		if atomicfile.Exists(path) {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		pod, err := in.MirrorPods.MirrorPod(ctx, name, in.Layout.NodeName())
		if err != nil {
			return fmt.Errorf("asking for pod %s: %w", name, err)
		}
		if pod != nil {
			still = append(still, name)
		}
	}
	if len(still) > 0 {
		return fmt.Errorf("still there: %s", strings.Join(still, ", "))
	}
	return nil
}

// removeReturned removes Bulkhead's directories that were created again after their removal. It
// removes only empty directories, because files in them may belong to other programs.
func (in *Installer) removeReturned() (changed bool) {
	for _, dir := range append(in.Layout.ComponentDirs(), in.Layout.State) {
		if os.Remove(dir) == nil {
			changed = true
		}
	}
	return changed
}

// addedPods reports whether the run to be rolled back has added static pods.
func (in *Installer) addedPods(j *journal.Journal) bool {
	return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool {
		return e.Kind == journal.KindFile && e.Backup == "" && slices.Contains(in.Layout.ComponentManifests(), e.Name)
	})
}
