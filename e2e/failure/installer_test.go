// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// noImage is an image that cannot be pulled. The pull fails at once. A name lookup without DNS
	// would take longer than the specs.
	noImage = "127.0.0.1:1/bulkhead:e2e-none"
	// shortTimeout is the timeout of an installation that cannot succeed.
	shortTimeout   = " --timeout=15s"
	mediumTimeout  = " --timeout=60s"
	longTimeout    = " --timeout=150s"
	authorization  = StateDirectory + "/apiserver/authorization.yaml"
	originalServer = StateDirectory + "/state/kube-apiserver.yaml"
	serverProcess  = "pgrep -x kube-apiserver"
	// checksums prints the checksums of the files that an installation may change.
	checksums = "find /etc/kubernetes/manifests " + StateDirectory +
		" -type f ! -name '*.crt' ! -name '*.key' | sort | xargs sha256sum"
	// listsOfSuites finds files that name a namespace of a suite.
	listsOfSuites = "grep -rl --include='*.yaml' e2e- " + StateDirectory + " || true"
)

// The behavior is the same on every profile, so the specs run on one. They run in order: every step
// starts from the end of the previous step. This keeps the number of API server restarts low.
var _ = Describe("the installer", Serial, Ordered, Label(Disruptive, OnHost, OnHardened, Slow), func() {
	var (
		installed Installation
		plain     string // kube-apiserver's manifest without Bulkhead
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		installed, err = suite.ReadInstallation(ctx)
		Expect(err).NotTo(HaveOccurred())
		if installed.Profile == InTree {
			Skip("bulkhead was not installed by its installer on " + suite.ControlPlane)
		}
		DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, installed.Command()) })
	})

	It("changes nothing in a second run", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func(ctx SpecContext) {
		// Accounts of earlier suites leave the lists after their namespaces are deleted.
		Eventually(func() string { return suite.OnControlPlane(ctx, listsOfSuites) }).WithContext(ctx).WithTimeout(
			4 * Soon).WithPolling(time.Second).Should(BeEmpty())
		before := state(ctx)
		suite.OnControlPlane(ctx, installed.Command())
		Expect(state(ctx)).To(Equal(before))
		expectBulkhead(ctx)
	})

	It("changes nothing if it installs what bulkhead status prints", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"),
		func(ctx SpecContext) {
			before := state(ctx)
			suite.OnControlPlane(ctx, "bulkhead status -o yaml > /run/bulkhead.yaml && "+
				"bulkhead config diff /run/bulkhead.yaml && bulkhead install --config=/run/bulkhead.yaml")
			Expect(state(ctx)).To(Equal(before))
			expectBulkhead(ctx)
		})

	It("changes nothing if its configuration is invalid", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"),
		func(ctx SpecContext) {
			before := state(ctx)
			out, err := suite.Host.Run(ctx, suite.ControlPlane, "sed 's/^profile:/profil:/' /run/bulkhead.yaml | "+
				"bulkhead install --config=-")
			Expect(err).To(HaveOccurred(), out)
			Expect(out + err.Error()).To(ContainSubstring(`line 3: unknown field "profil"; did you mean "profile"?`))
			Expect(state(ctx)).To(Equal(before))
			expectBulkhead(ctx)
		})

	It("changes nothing if the disk is full", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func(ctx SpecContext) {
		before := state(ctx)
		for _, free := range []string{"0", "16k"} {
			out, err := suite.Host.Run(ctx, suite.ControlPlane, onFullDisk(free, "bulkhead install --mode=audit"))
			Expect(err).To(HaveOccurred(), out)
			Expect(out + err.Error()).To(ContainSubstring("no space left on device"))
			Expect(state(ctx)).To(Equal(before), "with %s free", free)
			expectBulkhead(ctx)
		}
	})

	DescribeTable("restores the old state after Ctrl-C", expectInterrupted,
		Entry("while node-restriction starts", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), RestrictionManifest),
		Entry("while kube-apiserver starts", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), APIServerManifest),
	)

	It("restores kube-apiserver's manifest byte for byte", Denies("NA-DEFAULT"), func(ctx SpecContext) {
		original := exactly(ctx, originalServer)
		output := suite.OnControlPlane(ctx, "bulkhead uninstall")
		plain = exactly(ctx, APIServerManifest)
		Expect(plain).To(Equal(original))
		Expect(plain).NotTo(ContainSubstring("bulkhead"))
		// The kubelet of this host keeps its proxy until `bulkhead node uninstall`.
		Expect(suite.OnControlPlane(ctx,
			"test ! -e "+ComponentManifest+" && test ! -e "+RestrictionManifest+" && ls -A "+StateDirectory)).
			To(Equal("kubelet-auth-proxy\nnode"), "bulkhead uninstall said:\n%s", output)
		expectInTree(ctx)
	})

	It("changes nothing if its image cannot be pulled", Denies("NA-DEFAULT"), func(ctx SpecContext) {
		server := suite.OnControlPlane(ctx, serverProcess)
		broken := installed
		broken.Image = noImage
		expectFailure(ctx, broken.Command()+shortTimeout, "node-restriction")
		Expect(exactly(ctx, APIServerManifest)).To(Equal(plain))
		Expect(suite.OnControlPlane(ctx, serverProcess)).To(Equal(server), "the API server was restarted for nothing")
		expectInTree(ctx)
	})

	It("rolls back if the API server does not start with Bulkhead", Denies("NA-DEFAULT"),
		func(ctx SpecContext) {
			// Break the file at the moment when kube-apiserver's manifest first names it. Earlier,
			// scope-sync would report the broken file. On a slow machine, a component that starts before
			// may need longer than the first timeout, which always passes.
			sabotage := "(until grep -q " + authorization + " " + APIServerManifest + "; do sleep 0.05; done; " +
				"echo broken > " + authorization + ") >/dev/null 2>&1 &\ntrap \"kill $! 2>/dev/null\" EXIT\n"
			const waitedFor = "kube-apiserver with Bulkhead's components"
			server := suite.OnControlPlane(ctx, serverProcess)
			if !strings.Contains(failure(ctx, sabotage+installed.Command()+mediumTimeout), waitedFor) {
				Expect(exactly(ctx, APIServerManifest)).To(Equal(plain))
				expectFailure(ctx, sabotage+installed.Command()+longTimeout, waitedFor)
			}
			Expect(suite.OnControlPlane(ctx, serverProcess)).NotTo(Equal(server), "the API server never saw the broken file")
			Expect(exactly(ctx, APIServerManifest)).To(Equal(plain))
			expectInTree(ctx)
		})

	It("installs after a failed installation", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func(ctx SpecContext) {
		suite.OnControlPlane(ctx, installed.Command())
		expectBulkhead(ctx)
	})
})

// state returns everything that an installation without changes must not change. It excludes
// certificates, because short-lived certificates are renewed all the time.
func state(ctx context.Context) string {
	GinkgoHelper()
	return suite.OnControlPlane(ctx, checksums+"; pgrep -x kube-apiserver; pgrep -x node-authorizer; "+RestrictionProcess)
}

// onFullDisk returns a script that runs a command while the state directory is on a full disk.
func onFullDisk(free, command string) string {
	return "set -e; copy=$(mktemp -d /run/e2e-full-XXXXXX); cp -a " + StateDirectory + "/. $copy/; " +
		"mount -t tmpfs -o mode=755,size=4m tmpfs " + StateDirectory + "; " +
		"trap 'umount -l " + StateDirectory + "; rm -rf $copy' EXIT; cp -a $copy/. " + StateDirectory + "/; " +
		"truncate -s " + free + " $copy/free; cat $copy/free >" + StateDirectory + "/free; " +
		"cat /dev/zero >" + StateDirectory + "/fill 2>/dev/null || true; rm " + StateDirectory + "/free; " + command
}

// exactly returns the exact content of a file on the control-plane host.
func exactly(ctx context.Context, file string) string {
	GinkgoHelper()
	content, err := suite.Host.Run(ctx, suite.ControlPlane, "cat "+file)
	Expect(err).NotTo(HaveOccurred())
	return content
}

// expectFailure runs a command that must fail. Its error must name what it waited for.
func expectFailure(ctx context.Context, script, waitedFor string) {
	GinkgoHelper()
	Expect(failure(ctx, script)).To(ContainSubstring(waitedFor))
}

// failure returns what an installation prints that fails.
func failure(ctx context.Context, script string) string {
	GinkgoHelper()
	out, err := suite.Host.Run(ctx, suite.ControlPlane, script)
	Expect(err).To(HaveOccurred(), out)
	GinkgoWriter.Println(out, err)
	Expect(out + err.Error()).To(ContainSubstring("failed"))
	return out + err.Error()
}

// expectBulkhead and expectOthers check which component decides about nodes.
func expectBulkhead(ctx context.Context) {
	GinkgoHelper()
	node := suite.AsNode(suite.Env().Own)
	suite.ExpectAllowed(ctx, node, List(api.Services), "NA-UNI-SERVICES")
	suite.ExpectForbidden(ctx, node, List(api.Deployments), "NA-DEFAULT")
}

func expectInTree(ctx context.Context) {
	GinkgoHelper()
	node := suite.AsNode(suite.Env().Own)
	Expect(suite.Do(ctx, node, List(api.Services))).To(AllowedBy(InTree, "NA-UNI-SERVICES"))
	answer, err := suite.Do(ctx, node, List(api.Deployments))
	Expect(err).NotTo(HaveOccurred())
	Expect(answer).To(ForbiddenBy(InTree, "NA-DEFAULT", ""))
	Expect(answer.Message).NotTo(ContainSubstring("[NA-"))
}
