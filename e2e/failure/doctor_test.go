// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	askDoctor = "bulkhead doctor --kubeconfig=/etc/kubernetes/admin.conf"
	// repair fails only on an error: exit code 2 means that there are findings.
	repair = askDoctor + " --fix=objects --yes 2>&1 || test $? = 2"
	// deletedRole is an object that bulkhead install writes, without settings of a host.
	deletedRole = "bulkhead:node-authorizer"
)

// examine returns what bulkhead doctor finds, without notes.
func examine(ctx context.Context) (urgent, soon []string) {
	GinkgoHelper()
	all := examineAll(ctx)
	return all[doctor.Urgent], all[doctor.Soon]
}

func examineAll(ctx context.Context) map[doctor.Severity][]string {
	GinkgoHelper()
	var report doctor.Report
	out := suite.OnControlPlane(ctx, askDoctor+" -o json || test $? = 2")
	Expect(json.Unmarshal([]byte(out), &report)).To(Succeed(), out)
	all := map[doctor.Severity][]string{}
	for _, finding := range report.Findings {
		all[finding.Severity] = append(all[finding.Severity],
			fmt.Sprintf("%s: %v: %s", finding.Check, finding.Names, finding.Problem))
	}
	return all
}

var _ = Describe("bulkhead doctor", Serial, Ordered, Label(Disruptive, OnHost, OnHardened, Slow), func() {
	It("finds nothing urgent on a healthy cluster", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func(ctx SpecContext) {
		// A spec before this one may have restarted a component. What is soon to do is not looked at:
		// doctor also reports restarts of the last day and old tokens, and other specs cause both.
		Eventually(ctx, func() []string {
			urgent, _ := examine(ctx)
			return urgent
		}).WithTimeout(2 * time.Minute).WithPolling(5 * time.Second).Should(BeEmpty())
	})

	It("finds a ClusterRole of Bulkhead that was deleted, and applies it with --fix",
		AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func(ctx SpecContext) {
			suite.OnControlPlane(ctx, "kubectl --kubeconfig=/etc/kubernetes/admin.conf delete clusterrole "+deletedRole)
			DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, repair) })
			urgent, soon := examine(ctx)
			Expect(append(urgent, soon...)).To(ContainElement(ContainSubstring(deletedRole)))

			Expect(suite.OnControlPlane(ctx, repair)).To(ContainSubstring(deletedRole))
			urgent, soon = examine(ctx)
			Expect(append(urgent, soon...)).NotTo(ContainElement(ContainSubstring(deletedRole)))
			Expect(suite.OnControlPlane(ctx, repair)).NotTo(ContainSubstring(deletedRole))
		})

	It("finds the kubelet that kube-apiserver cannot reach", Denies("KA-LOOPBACK-1"), Label(OnWorker),
		func(ctx SpecContext) {
			back := func(ctx context.Context) { restoreProxy(ctx); suite.AwaitProxies(ctx) }
			finding := ContainElement(HavePrefix("connections: [" + suite.Worker +
				"]: kube-apiserver cannot reach the kubelet"))
			urgent, _ := examine(ctx)
			Expect(urgent).NotTo(finding)
			DeferCleanup(back)
			removeProxy(ctx)
			reported := func() []string {
				urgent, _ := examine(ctx)
				return urgent
			}
			Eventually(ctx, reported).WithTimeout(2 * time.Minute).WithPolling(5 * time.Second).Should(finding)

			back(ctx)
			Eventually(ctx, reported).WithTimeout(2 * time.Minute).WithPolling(5 * time.Second).ShouldNot(finding)
		})
})
