// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestScopeObjects(t *testing.T) {
	objects, err := scopeObjects(
		NodeScope{On: true, CustomResources: "widgets.example.com=field:spec.node,\n gadgets.cilium.io=label:a/b"})
	must(t, err)
	var rules []any
	for _, object := range objects {
		if object.GetName() == readerRole && object.GetKind() == "ClusterRole" {
			rules, _, err = unstructured.NestedSlice(object.Object, "rules")
			must(t, err)
		}
	}
	want := []any{
		map[string]any{"apiGroups": []any{"example.com"}, "resources": []any{"widgets"}, "verbs": []any{"get"}},
		map[string]any{"apiGroups": []any{"cilium.io"}, "resources": []any{"gadgets"}, "verbs": []any{"get"}},
	}
	if diff := cmp.Diff(want, rules[min(1, len(rules)):]); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestScopeSyncWritesWhereTheServerReads, and nowhere else.
func TestScopeSyncWritesWhereTheServerReads(t *testing.T) {
	layout := DefaultLayout()
	layout.State = "/elsewhere"
	data, err := layout.scopeSyncPod(scoped(Hardened))
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
			continue // its own, in memory
		}
		if *v.HostPath.Type != corev1.HostPathDirectory || !strings.HasPrefix(v.HostPath.Path, "/elsewhere/") {
			t.Errorf("volume %s is %s %s", v.Name, *v.HostPath.Type, v.HostPath.Path)
		}
	}
	if args := pod.Spec.Containers[0].Command; !slices.Contains(args, "--node-name="+layout.NodeName()) {
		t.Errorf("it does not know whose server it looks after: %v", args)
	}
	if without, err := layout.scopeSyncPod(options(Hardened)); without != nil || err != nil {
		t.Errorf("without node scope: %v\n%s", err, without)
	}
}

func TestScopeSyncHasACertificate(t *testing.T) {
	for _, leaf := range DefaultLayout().Keeper(options(Hardened).Certificates, time.Now).Leaves {
		if leaf.CommonName == ScopeSyncUser && filepath.Dir(leaf.CertFile) == DefaultLayout().ScopeSync() &&
			cmp.Equal(leaf.Organization, []string{ComponentsGroup}) {
			return
		}
	}
	t.Error("nobody renews it")
}
