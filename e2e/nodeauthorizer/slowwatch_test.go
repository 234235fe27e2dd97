// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// watchDelay is the delay of all watch events to node-authorizer.
	watchDelay = 5 * time.Second

	componentKubeconfig = StateDirectory + "/node-authorizer/kubeconfig"
	// asideKubeconfig is the path of the original kubeconfig during the specs. It is outside of the
	// directories that the installer manages.
	asideKubeconfig  = "/etc/kubernetes/e2e-node-authorizer.kubeconfig"
	slowwatchProgram = "/usr/local/bin/e2e-slowwatch"
	slowwatchAddress = "127.0.0.1:10469"
	slowwatchLog     = "/var/log/e2e-slowwatch.log"
	slowwatchPID     = "/run/e2e-slowwatch.pid"

	liveReadsFound = "bulkhead_live_read_found_total"
)

// A program delays node-authorizer's watches. node-authorizer then knows a pod only long after its
// node has made requests, so every answer needs a live lookup.
var _ = Describe("a storm of pods while node-authorizer's watches are five seconds late", Serial, Ordered,
	Label(Disruptive, OnHost, OnHardened, Slow), func() {
		BeforeAll(func(ctx SpecContext) {
			program := buildSlowwatch(ctx)
			// Take the lock before the delay begins: other suites may have the machine for minutes.
			TakeMachine(ctx)
			DeferCleanup(watchAsBefore)
			watchLate(ctx, program)
		})

		It("causes no false denial", Allows("NA-SECRET-1"), Allows("NA-CM-1"), func(ctx SpecContext) {
			before := must(suite.ComponentMetric(ctx, liveReadsFound, ""))
			what := "a storm with the watches delayed by " + watchDelay.String()
			s := stormOnThisMachine(ctx, what)
			found := must(suite.ComponentMetric(ctx, liveReadsFound, "")) - before
			Measured(what, fmt.Sprintf("%.0f live reads found what was asked for", found))
			s.expectNoRefusal()
			Expect(found).To(BeNumerically(">", 0), "no event was late: the watches were not delayed")
		})

		It("still denies the objects of other nodes", Denies("NA-SECRET-1"), func(ctx SpecContext) {
			env := suite.Env()
			makeRequest := used(other, aSecret, fixtures.WithSecret, named(Get(api.Secrets)))
			suite.ExpectForbidden(ctx, suite.AsNode(env.Own), makeRequest(ctx, env), "NA-SECRET-1", unrelated)
		})
	})

// buildSlowwatch builds the program for the host as a static binary.
func buildSlowwatch(ctx context.Context) []byte {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "slowwatch")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "../slowwatch")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	out, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return must(os.ReadFile(file))
}

// watchLate runs the program between node-authorizer and its API server, and restarts
// node-authorizer: existing watches would not go through the program.
func watchLate(ctx context.Context, program []byte) {
	GinkgoHelper()
	kubeconfig := must(clientcmd.Load([]byte(suite.OnControlPlane(ctx, "cat "+componentKubeconfig))))
	server := kubeconfig.Clusters[kubeconfig.Contexts[kubeconfig.CurrentContext].Cluster].Server
	Expect(suite.Host.Put(ctx, suite.ControlPlane, slowwatchProgram, program)).To(Succeed())
	suite.OnControlPlane(ctx,
		fmt.Sprintf("%s -listen=%s -server='%s' -directory=%s/node-authorizer -delay=%s </dev/null >%s 2>&1 &\necho $! >%s",
			slowwatchProgram, slowwatchAddress, server, StateDirectory, watchDelay, slowwatchLog, slowwatchPID))
	suite.EventuallyOnControlPlane(ctx, Soon,
		"curl -sS --max-time 5 http://"+slowwatchAddress+"/livez || { cat "+slowwatchLog+"; exit 1; }")
	suite.OnControlPlane(ctx,
		fmt.Sprintf("cp -p %[1]s %[2]s && cp -p %[1]s %[1]s.e2e && sed 's|server: .*|server: http://%[3]s|' %[2]s "+
			">%[1]s.e2e && mv %[1]s.e2e %[1]s",
			componentKubeconfig, asideKubeconfig, slowwatchAddress))
	suite.RestartComponent(ctx)
	suite.AwaitWebhook(ctx, restored, ComponentReady)
}

// watchAsBefore undoes watchLate, also if that failed halfway.
func watchAsBefore(ctx context.Context) {
	GinkgoHelper()
	changed := suite.OnControlPlane(ctx,
		fmt.Sprintf("if test -e %[2]s; then cp -p %[2]s %[1]s.e2e && mv %[1]s.e2e %[1]s && rm %[2]s && echo changed; fi",
			componentKubeconfig, asideKubeconfig))
	if changed != "" {
		suite.RestartComponent(ctx)
		suite.AwaitWebhook(ctx, restored, ComponentReady)
	}
	suite.OnControlPlane(ctx, fmt.Sprintf("if test -e %[1]s; then kill $(cat %[1]s) || true; fi; rm -f %[1]s %s %s",
		slowwatchPID, slowwatchProgram, slowwatchLog))
}
