// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMirrorAnnotations(t *testing.T) {
	got, err := mirrorAnnotations()
	must(t, err)
	want := map[string]string{
		"node.kubernetes.io/mirror.allowed": "true",
		"node.kubernetes.io/mirror.allowed-label-keys": "component,tier," +
			"app.kubernetes.io/component,app.kubernetes.io/name,app.kubernetes.io/part-of",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestKubeSystemIsOpenBeforeNodeRestrictionIsAsked(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		h.kubelet()
		p := h.begin(options(Hardened))
		for _, s := range p.steps() {
			if h.fromDisk() != "" && h.annotations[MirrorAllowed] != "true" {
				t.Errorf("before %q it is asked and kube-system is closed", s.Name)
			}
			_, err := p.Run(t.Context(), s)
			must(t, err)
			h.kubelet()
		}
	})
}

func TestAnnotationsOfOthersStay(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after map[string]string
		says          string
	}{
		{"another value is kept and reported", map[string]string{MirrorAllowed: "false"},
			map[string]string{MirrorAllowed: "false"}, "lacks true"},
		{"shorter list is kept and reported", map[string]string{MirrorLabelKeys: "component, tier"},
			map[string]string{MirrorLabelKeys: "component, tier"}, "lacks app.kubernetes.io/component,"},
		{"a longer list stays without a word",
			map[string]string{MirrorLabelKeys: "component,tier,x," +
				"app.kubernetes.io/component,app.kubernetes.io/name,app.kubernetes.io/part-of"},
			map[string]string{MirrorLabelKeys: "component,tier,x," +
				"app.kubernetes.io/component,app.kubernetes.io/name,app.kubernetes.io/part-of"}, ""},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			h.annotations = tc.before
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			if got := h.out.String(); strings.Contains(got, "it stays, though it lacks") != (tc.says != "") ||
				!strings.Contains(got, tc.says) {
				t.Errorf("it says:\n%s", got)
			}
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
			if diff := cmp.Diff(tc.after, h.annotations); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	onHost(t, "one that was changed since stays", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.annotations[MirrorLabelKeys] += ",mine"
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if len(h.annotations) != 1 || !strings.HasSuffix(h.annotations[MirrorLabelKeys], ",mine") {
			t.Errorf("left are %v", h.annotations)
		}
	})
}
