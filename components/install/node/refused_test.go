// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"strings"
	"testing"
)

func TestAKubeletThatIsNotKubeadmsIsLeftAlone(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spoil    func(*testNode)
		mentions string
	}{
		{"another ExecStart", func(n *testNode) {
			n.exec = "{ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet --config=x ; }"
		}, "not started as kubeadm starts it"},
		{"a variable in braces", func(n *testNode) {
			n.exec = strings.ReplaceAll(n.exec, "$KUBELET_CONFIG_ARGS", "${KUBELET_CONFIG_ARGS}")
		}, "not started as kubeadm starts it"},
		{"one that is stopped", func(n *testNode) { n.running = false }, "is loaded and inactive"},
		{"a flag that counts more", func(n *testNode) { n.extra = []string{"--anonymous-auth=true"}; n.start() },
			"--anonymous-auth=true, which counts more"},
		{"foreign directory", func(n *testNode) { n.extra = []string{"--config-dir", "/etc/other"}; n.start() },
			"--config-dir, which counts more"},
		{"another port", func(n *testNode) { n.add("port: 10260") }, "the kubelet's port is 10260"},
		{"a certificate of its own", func(n *testNode) { n.add("tlsCertFile: /x") }, "tlsCertFile"},
		{"an API server that is away", func(n *testNode) { n.apiAway = true }, "asking the API server"},
	} {
		onNode(t, tc.name, func(t *testing.T, n *testNode) {
			tc.spoil(n)
			before := n.snapshot()
			err := n.installer().Install(t.Context(), kubeletOptions)
			if err == nil || !strings.Contains(err.Error(), tc.mentions) ||
				!strings.Contains(err.Error(), "nothing has been changed") {
				t.Errorf("error is %v", err)
			}
			n.mustBe(before)
		})
	}
}

func (n *testNode) add(line string) {
	n.t.Helper()
	must(n.t, os.WriteFile(n.config, append(read(n.t, n.config), line+"\n"...), 0o600))
}

func TestANodeWithoutAProxyIsLeftAlone(t *testing.T) {
	onNode(t, "the cluster has none", func(t *testing.T, n *testNode) {
		n.proxyWanted = false
		before := n.snapshot()
		err := n.installer().Install(t.Context(), kubeletOptions)
		if err == nil || !strings.Contains(err.Error(), "run `bulkhead install` on a control-plane host first") ||
			!strings.Contains(err.Error(), "nothing has been changed") {
			t.Errorf("error is %v", err)
		}
		n.mustBe(before)
	})
	onNode(t, "the cluster has just been told to", func(t *testing.T, n *testNode) {
		n.proxyLate = 5
		must(t, n.installer().Install(t.Context(), kubeletOptions))
	})
}

// If a user interrupts the installer, the kubelet must still run.
// A kubelet that stops while it starts a container can leave the container frozen.
func TestTheKubeletIsNotRestartedWhileItStartsTheProxy(t *testing.T) {
	onNode(t, "proxy that starts late: installed", func(t *testing.T, n *testNode) {
		n.proxyStarts = 20
		must(t, n.installer().Install(t.Context(), kubeletOptions))
	})
	onNode(t, "proxy that never starts: nothing has been changed", func(t *testing.T, n *testNode) {
		n.proxyStarts = 1_000_000
		before := n.snapshot()
		err := n.installer().Install(t.Context(), kubeletOptions)
		mentions(t, err, "not within 1m0s: pod kube-system/proxy does not run: ImagePullBackOff")
		mentions(t, err, "nothing has been changed")
		n.mustBe(before)
	})
	onNode(t, "kubelet behind a proxy that crashes: not waited for", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.proxyStarts = 1_000_000
		must(t, n.installer().Install(t.Context(), kubeletOptions))
	})
}
