// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

// TestScopeSyncWritesWhereTheServerReads checks that scope-sync writes only to files that the
// server reads.
func TestScopeSyncWritesWhereTheServerReads(t *testing.T) {
	layout := host.DefaultLayout()
	layout.State = "/elsewhere"
	data, err := scope.SyncPod(layout, scoped(Hardened).NodeScope, "example.test/bulkhead:1")
	must(t, err)
	pod := decode(t, data)
	var writable []string
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if !m.ReadOnly && !strings.HasPrefix(m.MountPath, "/run/") {
			writable = append(writable, m.MountPath)
		}
	}
	if diff := cmp.Diff([]string{layout.APIServer()}, writable); diff != "" {
		t.Errorf("writable (-want +got):\n%s", diff)
	}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath == nil {
			continue // scope-sync's own directory, in memory
		}
		if *v.HostPath.Type != corev1.HostPathDirectory || !strings.HasPrefix(v.HostPath.Path, "/elsewhere/") {
			t.Errorf("volume %s is %s %s", v.Name, *v.HostPath.Type, v.HostPath.Path)
		}
	}
	if args := pod.Spec.Containers[0].Command; !slices.Contains(args, "--node-name="+layout.NodeName()) {
		t.Errorf("it does not know whose server it looks after: %v", args)
	}
	if without, err := scope.SyncPod(layout, options(Hardened).NodeScope, "example.test/bulkhead:1"); without != nil ||
		err != nil {
		t.Errorf("without node scope: %v\n%s", err, without)
	}
}

func TestScopeSyncHasACertificate(t *testing.T) {
	for _, leaf := range host.DefaultLayout().Rotator(options(Hardened).Certificates, time.Now).Leaves {
		if leaf.CommonName == host.ScopeSyncUser && filepath.Dir(leaf.CertFile) == host.DefaultLayout().ScopeSync() &&
			cmp.Equal(leaf.Organization, []string{host.ComponentsGroup}) {
			return
		}
	}
	t.Error("nobody renews it")
}
