// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// relisted bounds the time until a list is in force. The proxy reads folders every ten seconds.
const relisted = time.Minute

// listsFolder creates a folder for lists on the target's host, and removes it after the specs. A
// second proxy uses it: a list stays in force after its file is removed, and must not affect the
// target's own proxy.
func listsFolder(ctx context.Context) string {
	GinkgoHelper()
	folder := "/var/lib/" + suite.Env().NewName("e2e-lists")
	_, err := suite.Host.Run(ctx, target(), "mkdir -p "+folder)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) error {
		_, err := suite.Host.Run(ctx, target(), "rm -r "+folder)
		return err
	})
	return folder
}

// revoke writes a list of the cluster's CA to a folder of the target, as an operator does. The list
// is removed in the end. revoke returns once the proxy has this number of entries.
func revoke(ctx context.Context, port *Port, directory, list string, entries int) {
	GinkgoHelper()
	file := directory + "/" + suite.Env().NewName("e2e") + ".pem"
	DeferCleanup(func(ctx context.Context) error {
		_, err := suite.Host.Run(ctx, target(), "rm -f "+file)
		return err
	})
	_, err := suite.Host.Run(ctx, target(),
		fmt.Sprintf("cat >%[1]s/.e2e <<'END' && mv %[1]s/.e2e %[2]s\n%[3]sEND\n", directory, file, list))
	Expect(err).NotTo(HaveOccurred())
	listed(ctx, port, entries)
}

func listed(ctx context.Context, port *Port, entries int) {
	GinkgoHelper()
	Eventually(ctx, func() (float64, error) {
		return suite.KubeletProxyMetric(ctx, port, "bulkhead_kubelet_crl_entries", "")
	}).WithTimeout(relisted).WithPolling(500*time.Millisecond).Should(BeEquivalentTo(entries), "the list is in force")
}

// The list has one certificate. All others stay valid.
var _ = Describe("a revoked certificate", Ordered, ContinueOnFailure, Label(OnHost, OnHardened, Slow), func() {
	var (
		port                         *Port
		ca                           authority
		revoked, otherCaller, holder Caller
		open                         *Connection
		folder                       string
	)

	BeforeAll(func(ctx SpecContext) {
		folder = listsFolder(ctx)
		port, ca = startSideProxy(ctx, SideProxy{Flags: []string{"--client-crl=" + folder}, Directories: []string{folder}}),
			clusterAuthority(ctx)
		revoked = caller(ctx, healthy)
		otherCaller = ca.certify(revoked.User)
		holder = bearer(ctx, "", healthy)
		open = must(port.Dial(ctx, revoked))
		DeferCleanup(func() { _ = open.Close() })
		// The proxy accepted the certificate until now, so the later rejection is due to the list.
		Expect(must(open.Send(health)).Code).To(Equal(http.StatusOK))
		revoke(ctx, port, folder, ca.list(time.Hour, revoked), 1)
		Expect(open.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	})

	It("is rejected", Denies("KA-CRL-1"), func(ctx SpecContext) {
		_, line := expectClaim(ctx, port, revoked, health, http.StatusUnauthorized)
		Expect(line.User).To(BeEmpty())
		Expect(line.Cause).To(ContainSubstring("is revoked"))
	})

	It("is rejected on a connection from before the revocation", Denies("KA-CRL-1"), func() {
		reply := must(open.Send(health))
		Expect(reply.Code).To(Equal(http.StatusUnauthorized), reply.String())
		Expect(reply.Body).To(ContainSubstring("[KA-CRL-1]"))
	})

	It("is rejected even with a valid token", Denies("KA-CRL-1"), func(ctx SpecContext) {
		both := revoked
		both.Token = holder.Token
		expectClaim(ctx, port, both, health, http.StatusUnauthorized)
	})

	It("is rejected for a request that every user is denied", Denies("KA-CRL-1"), func(ctx SpecContext) {
		expectClaim(ctx, port, revoked, get(processes[0].path).Upgrading(), http.StatusUnauthorized)
	})

	It("does not affect another certificate of the same user", AllowsBy("KA-CRL-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		expectClaim(ctx, port, otherCaller, health)
	})

	It("stays rejected when the list is removed", Denies("KA-CRL-1"), func(ctx SpecContext) {
		_, err := suite.Host.Run(ctx, target(), "rm "+folder+"/*.pem")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() (float64, error) {
			return suite.KubeletProxyMetric(ctx, port, "bulkhead_kubelet_crl_missing_lists", "")
		}).WithTimeout(relisted).WithPolling(500*time.Millisecond).Should(BeEquivalentTo(1), "the list is missed")
		expectClaim(ctx, port, revoked, health, http.StatusUnauthorized)
		Expect(send(ctx, port, otherCaller, health).Code).To(Equal(http.StatusOK))
	})
})

// An expired list does not have the certificates that were revoked since. The folder is a second
// proxy's: with --client-crl-expired=refuse, even the API server is rejected.
var _ = Describe("a revocation list that has expired", Ordered, ContinueOnFailure, Label(OnHost, OnHardened, Slow),
	func() {
		var (
			strict, lenient *Port
			ca              authority
			revoked         Caller
		)

		BeforeAll(func(ctx SpecContext) {
			ca = clusterAuthority(ctx)
			revoked = caller(ctx, healthy)
			folder := listsFolder(ctx)
			strict = startSideProxy(ctx, SideProxy{Flags: []string{"--client-crl=" + folder}, Directories: []string{folder}})
			lenient = startSideProxy(ctx,
				SideProxy{Flags: []string{"--client-crl=" + folder, "--client-crl-expired=allow"}, Directories: []string{folder}})
			revoke(ctx, strict, folder, ca.list(-time.Minute, revoked), 1)
			listed(ctx, lenient, 1)
		})

		It("rejects every certificate of its CA", Denies("KA-CRL-1"), func(ctx SpecContext) {
			_, line := expectClaim(ctx, strict, caller(ctx, healthy), health, http.StatusUnauthorized)
			Expect(line.Cause).To(ContainSubstring("the revocation list expired"))
		})

		It("does not affect tokens", AllowsBy("KA-CRL-1", "KA-HEALTH-1"), func(ctx SpecContext) {
			expectClaim(ctx, strict, bearer(ctx, "", healthy), health)
		})

		It("accepts certificates that it does not list, if the operator configures that", AllowsBy("KA-CRL-1", "KA-HEALTH-1"),
			func(ctx SpecContext) {
				expectClaim(ctx, lenient, caller(ctx, healthy), health)
			})

		It("rejects certificates that it lists, if the operator configures that", Denies("KA-CRL-1"), func(ctx SpecContext) {
			expectClaim(ctx, lenient, revoked, health, http.StatusUnauthorized)
		})
	})
