// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// policySetting and setting are settings in a finding: the fields of nodePolicy, and other fields of
// the Installation.
var (
	policySetting = regexp.MustCompile("`nodePolicy: \\{(.*)\\}`")
	setting       = regexp.MustCompile("`((?:rules|kubeletAPI|serviceAccountTokens): \\{.*?\\})`")
)

// TestThePrintedPolicyAllowsTheNode applies the setting in the finding and checks again.
func TestThePrintedPolicyAllowsTheNode(t *testing.T) {
	for name, node := range map[string]*corev1.Node{
		"one label":  workerNode("n1", nodeLabel("example.com/rack", "a", "kubelet")),
		"two labels": workerNode("n1", nodeLabel("example.com/rack", "a", ""), nodeLabel("plain", "a", "")),
		"one taint":  workerNode("n1", nodeTaint("gpu", "kubelet")),
		"two taints": workerNode("n1", nodeTaint("gpu", "kubelet"), nodeTaint("example.com/gpu", "kubelet")),
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Client: fake.NewClientset(node), Policy: strictPolicy(), Profile: "hardened"}
			findings, err := nodePolicyFindings(t.Context(), in)
			if err != nil || len(findings) != 1 {
				t.Fatalf("got %v, %v", findings, err)
			}
			fields := policySetting.FindStringSubmatch(findings[0].Detail)
			if fields == nil {
				t.Fatalf("no setting in %q", findings[0].Detail)
			}
			in.Policy, err = configuration.Parse([]byte(
				"apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n" + fields[1] + "\n"))
			if err != nil {
				t.Fatalf("%s: %v", fields[1], err)
			}
			findings, err = nodePolicyFindings(t.Context(), in)
			wantOne(t, findings, err, OK, "")
		})
	}
}

// TestPrintedSettingsAreValid checks the other settings with the parser of the Installation.
func TestPrintedSettingsAreValid(t *testing.T) {
	in := Input{GuardsKubelets: true, Modes: map[rules.ID]rules.Mode{noderestriction.PodIPInside: rules.Enforce},
		Client: fake.NewClientset(runningPod("web", "10.9.0.7"), agent("agent", "a", args("127.0.0.1:10250")),
			workerNode("n1", podCIDRs("10.1.0.0/24"), nodeLabel(corev1.LabelOSStable, "windows", "kubelet"))),
		ExactTokens: true, Server: kubeadmFlags(), Metrics: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(metricsWith(staleTokens + " 1"))), nil
		}}
	for name, check := range map[string]func(context.Context, Input) ([]Finding, error){
		"IPs of pods": podIPFindings, "Windows nodes": windowsFindings, "clients of 127.0.0.1:10250": loopbackFindings,
		"clients with old tokens": staleTokenFindings,
	} {
		t.Run(name, func(t *testing.T) {
			findings, err := check(t.Context(), in)
			if err != nil || len(findings) != 1 {
				t.Fatalf("got %v, %v", findings, err)
			}
			found := setting.FindStringSubmatch(findings[0].Detail)
			if found == nil {
				t.Fatalf("no setting in %q", findings[0].Detail)
			}
			file := "apiVersion: " + installation.APIVersion + "\nkind: " + installation.Kind + "\n" + found[1] + "\n"
			if _, err := installation.Parse([]byte(file)); err != nil {
				t.Errorf("%s: %v", found[1], err)
			}
		})
	}
}
