// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestNodesThatAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		name, os, selector string
		guards             bool
		level              Level
		mentions           string
	}{
		{"node that is left out", "linux", "pool!=edge", true, Warn, "n1: kubeletAPI.nodeSelector leaves them out"},
		{"node that is left out: the setting is named", "linux", "pool!=edge", true, Warn, "serverTLSBootstrap: true"},
		{"node that is selected", "linux", "pool=edge", true, OK, "none"},
		{"Windows node, which has its own finding", "windows", "pool!=edge", true, OK, "none"},
		{"invalid selector", "linux", "pool in", true, Fail, `kubeletAPI.nodeSelector "pool in"`},
		{"no selector", "linux", "", true, "", ""},
		{"kubelets that are not protected", "linux", "pool!=edge", false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := workerNode("n1", nodeLabel(corev1.LabelOSStable, tt.os, "kubelet"), nodeLabel("pool", "edge", "kubectl"))
			findings, err := leftOutFindings(t.Context(),
				Input{Client: fake.NewClientset(node), GuardsKubelets: tt.guards, NodeSelector: tt.selector})
			if tt.level == "" {
				if len(findings) > 0 || err != nil {
					t.Errorf("got %v, %v", findings, err)
				}
				return
			}
			wantOne(t, findings, err, tt.level, tt.mentions)
		})
	}
}

func TestWindowsNodes(t *testing.T) {
	for _, tt := range []struct {
		name, os string
		guards   bool
		level    Level
		mentions string
	}{
		{"Windows node", "windows", true, Warn, "n1: kubelet-auth-proxy runs only on Linux"},
		{"Windows node: the setting is named", "windows", true, Warn, "--kubelet-api=false"},
		{"Linux node", "linux", true, OK, "none"},
		{"Windows node, kubelets are not protected", "windows", false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := workerNode("n1", nodeLabel(corev1.LabelOSStable, tt.os, "kubelet"))
			findings, err := windowsFindings(t.Context(),
				Input{Client: fake.NewClientset(node), GuardsKubelets: tt.guards})
			if tt.level == "" {
				if len(findings) > 0 || err != nil {
					t.Errorf("got %v, %v", findings, err)
				}
				return
			}
			wantOne(t, findings, err, tt.level, tt.mentions)
		})
	}
}
