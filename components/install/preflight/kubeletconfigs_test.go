// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
)

func ready(node *corev1.Node) {
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
}

// configz returns the answer of every kubelet: its configuration, with the fields in more.
func configz(more string) func(context.Context, string) ([]byte, error) {
	return func(context.Context, string) ([]byte, error) {
		return []byte(`{"kubeletconfig": {"address": "0.0.0.0", "authorization": {"mode": "Webhook"}` + more + `}}`), nil
	}
}

func TestKubeletConfigurations(t *testing.T) {
	broken := func(context.Context, string) ([]byte, error) { return nil, errors.New("connection refused") }
	cut := func(context.Context, string) ([]byte, error) { return []byte(`{"kubeletconfig": {`), nil }
	for _, tt := range []struct {
		name     string
		configz  func(context.Context, string) ([]byte, error)
		audit    bool
		selector string
		level    Level
		mentions string
	}{
		{"kubeadm's configuration", configz(`, "authentication": {"anonymous": {"enabled": false}}`), false, "", OK,
			"no client of the 1 kubelets"},
		{"read-only port", configz(`, "readOnlyPort": 10255`), false, "", Fail, "n1: the read-only port is open"},
		{"read-only port in mode audit", configz(`, "readOnlyPort": 10255`), true, "", Fail, "`readOnlyPort: 0`"},
		{"anonymous requests in mode audit", configz(`, "authentication": {"anonymous": {"enabled": true}}`), true, "",
			Fail, "n1: requests without a credential are accepted"},
		{"every user may do everything, in mode audit", configz(`, "authorization": {"mode": "AlwaysAllow"}`), true, "",
			Fail, "users without a right by RBAC get 403"},
		{"kubelet behind its proxy", configz(`, "readOnlyPort": 10255, "address": "127.0.0.1"`), false, "", OK, "1 kubelets"},
		{"node that is left out", configz(`, "readOnlyPort": 10255`), false, "pool=main", OK, "1 kubelets"},
		{"idle streams as in the proxy", configz(`, "streamingConnectionIdleTimeout": "4h0m0s"`), true, "", OK, "1 kubelets"},
		{"idle streams longer than in the proxy", configz(`, "streamingConnectionIdleTimeout": "12h0m0s"`), false, "", Warn,
			"logs after 4h0m0s without data, also in mode audit. To keep them longer: " +
				"`kubeletAPI: {streamingConnectionIdleTimeout: 12h0m0s}`"},
		{"idle streams longer than in the proxy, mode audit", configz(`, "streamingConnectionIdleTimeout": "12h0m0s"`), true,
			"", Warn, "n1: streamingConnectionIdleTimeout is longer"},
		{"idle streams without a limit", configz(`, "streamingConnectionIdleTimeout": "0s"`), true, "", Warn,
			"`kubeletAPI: {streamingConnectionIdleTimeout: 8760h0m0s}`"},
		{"idle streams of a kubelet behind its proxy",
			configz(`, "streamingConnectionIdleTimeout": "12h0m0s", "address": "127.0.0.1"`), true, "", Warn, "n1: "},
		{"idle streams of a node that is left out", configz(`, "streamingConnectionIdleTimeout": "12h0m0s"`), true,
			"pool=main", OK, "1 kubelets"},
		{"kubelet that does not answer", broken, true, "", Warn, "n1: cannot be read: connection refused"},
		{"answer that is cut", cut, false, "", Warn, "reading its /configz"},
		{"error with control characters", func(context.Context, string) ([]byte, error) {
			return nil, errors.New("a\x1b[2J")
		}, false, "", Warn, "a\ufffd[2J"},
		{"taint with control characters", configz(`, "registerWithTaints": [{"key": "a\u001b[2J"}]`), false, "", Warn,
			`an invalid key, "a\x1b[2J"`},
		{"more taints than any kubelet has", configz(`, "registerWithTaints": [{"key": "a"}` +
			strings.Repeat(`, {"key": "a"}`, mostTaints) + "]"), false, "", Warn, "has 101 taints"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Client: fake.NewClientset(workerNode("n1", ready)), Configz: tt.configz, GuardsKubelets: true,
				AuditOnly: tt.audit, NodeSelector: tt.selector, Server: kubeadmFlags(), StreamIdleTimeout: 4 * time.Hour}
			findings, err := compatibilityFindings(t.Context(), in)
			wantOne(t, only(findings, kubeletConfigCheck), err, tt.level, tt.mentions)
		})
	}
}

func only(findings []Finding, check string) []Finding {
	var found []Finding
	for _, f := range findings {
		if f.Check == check {
			found = append(found, f)
		}
	}
	return found
}

// The remedy for idle streams is a valid setting, and with it the check passes.
func TestPrintedIdleTimeoutIsEnough(t *testing.T) {
	for _, idle := range []string{"4h0m1s", "0s"} {
		in := Input{Client: fake.NewClientset(workerNode("n1", ready)), GuardsKubelets: true, Server: kubeadmFlags(),
			Configz: configz(`, "streamingConnectionIdleTimeout": "` + idle + `"`), StreamIdleTimeout: 4 * time.Hour}
		findings, err := compatibilityFindings(t.Context(), in)
		findings = only(findings, kubeletConfigCheck)
		wantOne(t, findings, err, Warn, "")
		found := setting.FindStringSubmatch(findings[0].Detail)
		if found == nil {
			t.Fatalf("no setting in %q", findings[0].Detail)
		}
		file, err := installation.Parse([]byte("apiVersion: " + installation.APIVersion + "\nkind: " + installation.Kind +
			"\n" + found[1] + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		in.StreamIdleTimeout = file.KubeletAPI.StreamingConnectionIdleTimeout.Duration
		findings, err = compatibilityFindings(t.Context(), in)
		wantOne(t, only(findings, kubeletConfigCheck), err, OK, "")
	}
}

func TestKubeletConfigurationsAreNotReadWithoutTheProxy(t *testing.T) {
	in := Input{Client: fake.NewClientset(workerNode("n1", ready)), Configz: configz(`, "readOnlyPort": 10255`)}
	findings, err := compatibilityFindings(t.Context(), in)
	if err != nil || len(only(findings, kubeletConfigCheck)) > 0 {
		t.Errorf("got %v, %v", findings, err)
	}
}

// The Node may have lost the taint, or another client may own the list of taints now.
func TestTaintsWithWhichAKubeletRegisters(t *testing.T) {
	registers := configz(`, "registerWithTaints": [{"key": "gpu", "effect": "NoSchedule"}]`)
	for _, tt := range []struct {
		name    string
		configz func(context.Context, string) ([]byte, error)
		node    *corev1.Node
		level   Level
	}{
		{"on the Node", registers, workerNode("n1", ready, nodeTaint("gpu", "kube-controller-manager")), Fail},
		{"no longer on the Node", registers, workerNode("n1", ready), Fail},
		{"on a Node that is not ready", registers, workerNode("n1", nodeTaint("gpu", "kube-controller-manager")), Warn},
		{"set by another client", configz(""), workerNode("n1", ready, nodeTaint("gpu", "kubectl")), Warn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Profile: "hardened", Client: fake.NewClientset(tt.node), Configz: tt.configz, Policy: strictPolicy()}
			findings, err := compatibilityFindings(t.Context(), in)
			wantOne(t, only(findings, nodePolicyCheck), err, tt.level, `allowedTaints: ["gpu"]`)
		})
	}
}

func TestKubeletsBeyondTheLimitAreNotAsked(t *testing.T) {
	var nodes []runtime.Object
	for i := range mostKubelets + 2 {
		nodes = append(nodes, workerNode(fmt.Sprintf("n%d", i), ready))
	}
	in := Input{Client: fake.NewClientset(nodes...), Configz: configz(""), GuardsKubelets: true, Server: kubeadmFlags()}
	findings, err := compatibilityFindings(t.Context(), in)
	wantOne(t, only(findings, kubeletConfigCheck), err, Warn, "2 more kubelets were not asked")
}

func TestMissingPluginFailsInAudit(t *testing.T) {
	for _, tt := range []struct {
		name, profile, plugins string
		audit                  bool
		level                  Level
	}{
		{"off, mode audit", "hardened", "PodSecurity", true, Fail},
		{"off, mode enforce", "hardened", "PodSecurity", false, Warn},
		{"off, mode audit, profile parity", "parity", "PodSecurity", true, Warn},
		{"on, mode audit", "hardened", "NodeRestriction", true, OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := nodeRestriction(Input{Profile: tt.profile, AuditOnly: tt.audit,
				Server: flags{"enable-admission-plugins": tt.plugins}})
			if got.Level != tt.level || tt.level == Fail && !strings.Contains(got.Detail, "--enable-admission-plugins first") {
				t.Errorf("got %+v, want level %s", got, tt.level)
			}
		})
	}
}
