// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	serversKey = "--cert " + pki + "apiserver-kubelet-client.crt --key " + pki + "apiserver-kubelet-client.key"
	proxyPair  = StateDirectory + "/kubelet-auth-proxy/client"
	proxysKey  = "--cert " + proxyPair + ".crt --key " + proxyPair + ".key"
)

// statusFor returns the status of a request for a kubelet's pods, sent from the control plane's
// host.
func statusFor(ctx context.Context, address, with string) string {
	GinkgoHelper()
	return suite.OnControlPlane(ctx,
		"curl -sk -o /dev/null --max-time 20 -w '%{http_code}' "+with+" https://"+address+":10250/pods")
}

var _ = Describe("on the host of a node", Label(OnHost, OnHardened), func() {
	It("the kubelet listens on loopback only, and the proxy on the node's addresses", Denies("KA-LOOPBACK-1"),
		func(ctx SpecContext) {
			for _, node := range []string{suite.ControlPlane, target()} {
				sockets, err := suite.Host.Run(ctx, node, "ss -Hltnp 'sport = :10250'")
				Expect(err).NotTo(HaveOccurred())
				for line := range strings.Lines(sockets) {
					fields := strings.Fields(line)
					owner := `"kubelet"`
					if fields[3] != "127.0.0.1:10250" {
						owner = `"kubelet-auth-pr`
					}
					Expect(line).To(ContainSubstring(owner))
				}
				Expect(sockets).To(And(ContainSubstring("127.0.0.1:10250"), ContainSubstring(addressOf(ctx, node)+":10250")))
			}
		})

	It("the kubelet rejects the API server's certificate", Denies("KA-LOOPBACK-1"), func(ctx SpecContext) {
		Expect(statusFor(ctx, "127.0.0.1", serversKey)).To(Equal("401"))
	})

	It("the proxy accepts the API server's certificate", AllowsBy("KA-LOOPBACK-1", "KA-POD-1"), func(ctx SpecContext) {
		Expect(statusFor(ctx, addressOf(ctx, suite.ControlPlane), serversKey)).To(Equal("200"))
	})

	It("the kubelet accepts the proxy's certificate", Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
		Expect(statusFor(ctx, "127.0.0.1", proxysKey)).To(Equal("200"))
	})

	It("the proxy rejects its own client certificate", Denies("KA-LOOPBACK-1"), func(ctx SpecContext) {
		Expect(statusFor(ctx, addressOf(ctx, suite.ControlPlane), proxysKey)).To(Equal("401"))
	})

	It("the kubelet rejects the certificate of another node's proxy", Denies("KA-LOOPBACK-1"), Label(OnWorker),
		func(ctx SpecContext) {
			pair, err := suite.Host.Run(ctx, suite.Worker, "cat "+proxyPair+".crt "+proxyPair+".key")
			Expect(err).NotTo(HaveOccurred())
			file := "/run/" + suite.Env().NewName("e2e") + ".pem"
			DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, "rm -f "+file) })
			suite.OnControlPlane(ctx, "umask 077 && cat >"+file+" <<'END'\n"+pair+"END\n")
			Expect(statusFor(ctx, "127.0.0.1", "--cert "+file+" --key "+file)).To(Equal("401"))
		})

	It("the kubelet rejects a caller without credentials", Denies("KA-LOOPBACK-1"), func(ctx SpecContext) {
		Expect(statusFor(ctx, "127.0.0.1", "")).To(Equal("401"))
	})
})
