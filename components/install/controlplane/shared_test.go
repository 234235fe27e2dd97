// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"strings"
	"testing"
)

// saying returns options for hardened in which the user sets KubeletAPI.
func saying(guard bool) Options {
	o := options(Hardened)
	o.KubeletAPI, o.KubeletAPISaid = new(guard), true
	return o
}

// guarded compares the host and the cluster with their wanted state.
func (h *testHost) guarded(when string, want bool) {
	h.t.Helper()
	objects := bareCount(h.t)
	if want {
		objects = objectCount(h.t)
	}
	_, err := os.Stat(h.layout.KubeletApproverManifest())
	policies := strings.Contains(string(read(h.t, h.layout.AdmissionConfig())), h.layout.StaticPolicies())
	if (err == nil) != want || h.demands() != want || len(h.objects) != objects || policies != want {
		h.t.Errorf("%s: the approver: %v, demands: %v, policies: %v, objects: %d, want %d", when, err, h.demands(), policies,
			len(h.objects), objects)
	}
}

// Hardened protects kubelets unless the user sets --kubelet-api=false. The setting is kept.
func TestHardenedGuardsKubelets(t *testing.T) {
	onHost(t, "as the profile has it, without, still without, and with again", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		h.guarded("nobody has said anything", true)
		must(t, h.withKubelets(nil).Install(t.Context(), saying(false)))
		h.guarded("somebody says no", false)
		record, err := ReadRecord(h.layout)
		must(t, err)
		later := options(Hardened)
		later.KubeletAPI = record.KubeletAPI
		must(t, h.withKubelets(nil).Install(t.Context(), later))
		h.guarded("the record says no", false)
		must(t, h.withKubelets(nil).Install(t.Context(), saying(true)))
		h.guarded("somebody says yes", true)
	})
	onHost(t, "parity has none of it, and what is said for hardened is kept", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), options(Parity)))
		h.guarded("parity", false)
		record, err := ReadRecord(h.layout)
		must(t, err)
		if record.KubeletAPI != nil {
			t.Errorf("parity has said %v", *record.KubeletAPI)
		}
	})
}

// Another control-plane host follows the cluster's setting.
func TestAnotherHostKeepsTheKubeletAPIOfTheCluster(t *testing.T) {
	unsaid, refused, toldNo, parity := options(Hardened), saying(false), saying(false), options(Parity)
	toldNo.KubeletAPISaid = false
	for _, tc := range []struct {
		name    string
		options Options
		// record is true if this host was installed before. cluster is true if the cluster has the
		// proxies.
		record, cluster bool
		others          []string
		guards, there   bool
		says            string
	}{
		{"no flag, enabled in the cluster: stays enabled", unsaid, false, true, []string{"cp-2"}, true, true,
			"goes on as with --kubelet-api."},
		{"no flag, enabled in the cluster, last host: stays enabled",
			unsaid, false, true, nil, true, true, "goes on as with --kubelet-api."},
		{"no flag, disabled in the cluster: stays disabled", unsaid, false, false, []string{"cp-2"}, false, false,
			"goes on as with --kubelet-api=false"},
		{"no flag, first host: enabled", unsaid, false, false, nil, true, true, ""},
		{"flag enables it in the cluster", saying(true), false, false, []string{"cp-2"}, true, true, ""},
		{"it is given up in words", refused, false, true, []string{"cp-2"}, false, false, ""},
		{"host opted out, other hosts run: stays in the cluster", toldNo, true, true, []string{"cp-2"}, false, true,
			"Bulkhead runs on cp-2 too"},
		{"host opted out, last host: removed", toldNo, true, true, nil, false, false, ""},
		{"this host is in parity, others run", parity, false, true, []string{"cp-2"}, false, true,
			"Bulkhead runs on cp-2 too"},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			if tc.record {
				must(t, h.installer().Install(t.Context(), tc.options))
			}
			if tc.cluster {
				objects, err := guards()
				must(t, err)
				for _, o := range objects {
					must(t, h.Apply(t.Context(), o))
				}
			}
			h.others = tc.others
			h.out.Reset()
			must(t, h.installer().Install(t.Context(), tc.options))
			want := bareCount(t)
			if tc.there {
				want = objectCount(t)
			}
			_, approver := os.Stat(h.layout.KubeletApproverManifest())
			if (approver == nil) != tc.guards || len(h.objects) != want || !strings.Contains(h.out.String(), tc.says) {
				t.Errorf("the approver: %v, objects: %d, want %d, and %q\n%s", approver, len(h.objects), want, tc.says, &h.out)
			}
		})
	}
}

// If its proxy were removed first, a kubelet would be unreachable.
func TestProxiesStayUntilKubeletsAreRestored(t *testing.T) {
	const says = "kubelet-auth-proxy serves the kubelets of worker-1, worker-2"
	onHost(t, "it is given up", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		h.proxied = []string{"worker-1", "worker-2"}
		must(t, h.withKubelets(nil).Install(t.Context(), saying(false)))
		if h.demands() || len(h.objects) != objectCount(t) || !strings.Contains(h.out.String(), says) {
			t.Errorf("demands: %v, %d objects, want %d\n%s", h.demands(), len(h.objects), objectCount(t), &h.out)
		}
		h.proxied = nil
		must(t, h.withKubelets(nil).Install(t.Context(), saying(false)))
		h.guarded("the kubelets are back", false)
	})
	onHost(t, "everything is uninstalled", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		h.proxied = []string{"worker-1", "worker-2"}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		guard, err := guards()
		must(t, err)
		if len(h.objects) != len(guard) || !strings.Contains(h.out.String(), says) {
			t.Errorf("%d objects, want %d\n%s", len(h.objects), len(guard), &h.out)
		}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if len(h.objects) != len(guard) {
			t.Errorf("a second time: %d objects, want %d", len(h.objects), len(guard))
		}
		h.proxied = nil
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
}
