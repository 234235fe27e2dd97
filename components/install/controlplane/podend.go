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

// endingGrace is how long the kubelet has to end what it runs no more. It is not more,
// because the kubelet may be stopped, or the API server away.
const endingGrace = time.Minute

// waitEnded waits until the kubelet has ended the static pods of ours whose manifests
// are not there. What they see of the host has to outlive them: a container that starts
// once more just then has its directories made for it again, by the runtime. That it
// cannot be seen is said, and no reason not to go on.
func (in *Installer) waitEnded(ctx context.Context, timeout time.Duration) error {
	err := in.Until(ctx, min(endingGrace, timeout), "the kubelet, to end the static pods", in.ended)
	if err == nil || ctx.Err() != nil {
		return err
	}
	in.Note("%v\n             their directories are removed nevertheless; `bulkhead uninstall` again removes "+
		"what a container that starts late has made anew", err)
	return nil
}

// ended asks the API for their mirror pods, which the kubelet removes after the pods
// have ended.
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

// removeReturned removes those of our directories that were made anew since they were
// removed. Nobody has put anything into them yet, or they are not ours any more.
func (in *Installer) removeReturned() (changed bool) {
	for _, dir := range append(in.Layout.ComponentDirs(), in.Layout.State) {
		if os.Remove(dir) == nil {
			changed = true
		}
	}
	return changed
}

// addedPods reports whether a run that is taken back has made static pods run.
func (in *Installer) addedPods(j *journal.Journal) bool {
	return slices.ContainsFunc(j.Entries, func(e journal.Entry) bool {
		return e.Kind == journal.KindFile && e.Backup == "" && slices.Contains(in.Layout.ComponentManifests(), e.Name)
	})
}
