// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
)

// loopback returns the annotation for the nodes in the pod template of the DaemonSet.
func (h *testHost) loopback() string {
	h.t.Helper()
	return loopbackClientsIn(h.objects[proxyKey]).String()
}

func TestNodeLoopbackClients(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   node.LoopbackClients
		audit bool
		want  string
	}{
		{"unset, mode enforce: deny", "", false, "deny"},
		{"unset, mode audit: allow", "", true, "allow"},
		{"allow, mode enforce: allow", node.LoopbackAllow, false, "allow"},
		{"deny, mode audit: deny", node.LoopbackDeny, true, "deny"},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			must(t, h.withKubelets(nil).Install(t.Context(), said(Extensions{LoopbackClients: tc.set, AuditOnly: tc.audit})))
			if got := h.loopback(); got != tc.want {
				t.Errorf("the pods of the proxy have %q, want %q", got, tc.want)
			}
		})
	}
}

// All hosts share the DaemonSet. A run in which the user sets nothing keeps the value.
func TestLoopbackClientsAreShared(t *testing.T) {
	unset := options(Hardened)
	audit := options(Hardened)
	audit.Extensions.AuditOnly = true
	for _, tc := range []struct {
		name string
		// former is the annotation of the DaemonSet before the run. The value "none" means: without the
		// annotation.
		former string
		o      Options
		want   string
		says   string
	}{
		{"run without settings: kept", "allow", unset, "allow", ""},
		{"run with settings: replaced", "allow", said(Extensions{}), "deny", "loopback clients: allow -> deny."},
		{"mode audit: replaced", "deny", said(Extensions{AuditOnly: true}), "allow", "loopback clients: deny -> allow."},
		{"same settings: no note", "deny", said(Extensions{}), "deny", ""},
		{"invalid value: replaced", "maybe", unset, "deny", "loopback clients: maybe -> deny."},
		{"DaemonSet of an older version: deny", "none", unset, "deny", ""},
		{"DaemonSet of an older version, host in mode audit: allow", "none", audit, "allow",
			"loopback clients: deny -> allow."},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
			object := h.objects[proxyKey].Object
			// Another hash: the installer applies the DaemonSet again.
			must(t, unstructured.SetNestedField(object, "0", "metadata", "annotations", manifestHash))
			if unstructured.RemoveNestedField(object, loopbackPath...); tc.former != "none" {
				must(t, unstructured.SetNestedField(object, tc.former, loopbackPath...))
			}
			h.out.Reset()
			must(t, h.withKubelets(nil).Install(t.Context(), tc.o))
			if got := h.loopback(); got != tc.want {
				t.Errorf("the pods of the proxy have %q, want %q", got, tc.want)
			}
			if out := h.out.String(); !strings.Contains(out, tc.says) ||
				strings.Contains(out, "loopback clients:") != (tc.says != "") {
				t.Errorf("want %q in the output:\n%s", tc.says, out)
			}
		})
	}
}
