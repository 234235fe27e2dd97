// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

func TestDifferences(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*hosts.Host)
		want   []string
	}{
		{"same settings", func(*hosts.Host) {}, nil},
		{"other version", func(h *hosts.Host) { h.Version = "v2" },
			[]string{"WARN||hosts differ in version: v1 on cp1; v2 on cp2"}},
		{"other profile", func(h *hosts.Host) { h.Profile = "parity" },
			[]string{"FAIL||hosts differ in profile: hardened on cp1; parity on cp2"}},
		{"other mode", func(h *hosts.Host) { h.Mode = hosts.Audit },
			[]string{"FAIL||hosts differ in mode: audit on cp2; enforce on cp1"}},
		{"other configuration", func(h *hosts.Host) { h.ConfigHash = "eeeeeeeeeeeeeeee" },
			[]string{"FAIL||hosts differ in configuration: cccccccccccc on cp1; eeeeeeeeeeee on cp2"}},
		{"other configuration of another version",
			func(h *hosts.Host) { h.Version, h.ConfigHash = "v2", "eeeeeeeeeeeeeeee" },
			[]string{"WARN||hosts differ in version: ", "WARN||hosts differ in configuration: "}},
		{"other wiring", func(h *hosts.Host) { h.Wiring = "eeeeeeeeeeeeeeee" },
			[]string{"FAIL||hosts differ in flags of kube-apiserver: "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestCluster(t)
			c.entries["cp2"] = entry(t, tc.change)
			expectProblems(t, c.collect(t), tc.want...)
		})
	}
}

func TestDifferentFiles(t *testing.T) {
	for _, tc := range []struct {
		name, annotation, value string
		want                    []string
	}{
		{"same authorization file", apiserver.HashAnnotation, "aaaa", nil},
		{"other authorization file", apiserver.HashAnnotation, "eeee",
			[]string{"WARN||hosts differ in authorization file: aaaa on cp1; eeee on cp2"}},
		{"other admission file", apiserver.AdmissionHashAnnotation, "eeee",
			[]string{"WARN||hosts differ in admission file: bbbb on cp1; eeee on cp2"}},
		{"no annotation, as after kubeadm upgrade", apiserver.HashAnnotation, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestCluster(t)
			c.pods["kube-apiserver-cp2"].Annotations[tc.annotation] = tc.value
			expectProblems(t, c.collect(t), tc.want...)
		})
	}
}

func TestKubeadmConfig(t *testing.T) {
	parity := func(h *hosts.Host) { h.Profile, h.Wiring = "parity", "eeee" }
	for _, tc := range []struct {
		name, text string
		change     func(*testing.T, *testCluster)
		state      KubeadmConfig
		want       []string
	}{
		{"wired, all hosts installed", wiredKubeadm, nil, KubeadmWired, nil},
		{"another admission file", strings.Replace(wiredKubeadm, "bulkhead/apiserver/admission", "pod-security/admission", 1),
			nil, KubeadmPartlyWired, []string{"FAIL||ConfigMap kubeadm-config names only one of Bulkhead's two files"}},
		{"another authorization file", strings.Replace(wiredKubeadm, "bulkhead/apiserver/authorization", "authz", 1),
			nil, KubeadmPartlyWired, []string{"FAIL||ConfigMap kubeadm-config names only one of Bulkhead's two files"}},
		{"not wired, all hosts installed", plainKubeadm, nil, KubeadmNotWired,
			[]string{"FAIL||ConfigMap kubeadm-config does not name Bulkhead's files"}},
		{"not wired, hosts with different wiring", plainKubeadm, func(t *testing.T, c *testCluster) {
			c.entries["cp2"] = entry(t, parity)
		}, KubeadmNotWired, []string{"FAIL||hosts differ in profile", "FAIL||hosts differ in flags"}},
		{"not wired, one host without Bulkhead", plainKubeadm, func(_ *testing.T, c *testCluster) {
			delete(c.entries, "cp2")
			c.unwire("cp2")
		}, KubeadmNotWired, []string{"FAIL|cp2|Bulkhead is not installed"}},
		{"no ConfigMap", "", nil, KubeadmAbsent, nil},
		{"not YAML", "\x00", nil, KubeadmNotWired,
			[]string{"FAIL||ConfigMap kubeadm-config does not name Bulkhead's files"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestCluster(t)
			c.kubeadm = tc.text
			if tc.change != nil {
				tc.change(t, c)
			}
			report := c.collect(t)
			expectProblems(t, report, tc.want...)
			if report.KubeadmConfig != tc.state {
				t.Errorf("kubeadm-config is %s, want %s", report.KubeadmConfig, tc.state)
			}
		})
	}
}
