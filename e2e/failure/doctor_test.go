// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// diagnose returns what bulkhead doctor finds. It fails if the exit code does not match the findings. It
// returns an error and asserts nothing, so that Eventually can repeat it.
func diagnose(ctx context.Context) ([]doctor.Finding, error) {
	out, err := suite.Host.Run(ctx, suite.ControlPlane, "report=$("+askDoctor+" -o json); code=$?; "+
		`printf '%s\n' $code "$report"; test $code = 0 || test $code = 2`)
	if err != nil {
		return nil, err
	}
	var report doctor.Report
	code, text, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		return nil, fmt.Errorf("cannot read the output of bulkhead doctor: %w: %s", err, text)
	}
	want := "0"
	if slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool { return f.Severity != doctor.Note }) {
		want = "2"
	}
	if code != want {
		return nil, StopTrying(fmt.Sprintf("the exit code of bulkhead doctor is %s, want %s: %s", code, want, text))
	}
	return report.Findings, nil
}

// problemsOf returns the findings of one severity, without their remedies.
func problemsOf(ctx context.Context, severity doctor.Severity) ([]string, error) {
	findings, err := diagnose(ctx)
	var problems []string
	for _, f := range findings {
		if f.Severity == severity {
			problems = append(problems, problem(f))
		}
	}
	return problems, err
}

func problem(f doctor.Finding) string { return fmt.Sprintf("%s: %v: %s", f.Check, f.Names, f.Problem) }

// examine returns what bulkhead doctor finds, without notes.
func examine(ctx context.Context) (urgent, soon []string) {
	GinkgoHelper()
	all := examineAll(ctx)
	return all[doctor.Urgent], all[doctor.Soon]
}

func examineAll(ctx context.Context) map[doctor.Severity][]string {
	GinkgoHelper()
	findings, err := diagnose(ctx)
	Expect(err).NotTo(HaveOccurred())
	all := map[doctor.Severity][]string{}
	for _, f := range findings {
		all[f.Severity] = append(all[f.Severity], problem(f))
	}
	return all
}

var _ = Describe("bulkhead doctor", Serial, Ordered, Label(Disruptive, OnHost, OnHardened, Slow), func() {
	It("finds nothing urgent on a healthy cluster", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func(ctx SpecContext) {
		// A spec before this one may have restarted a component. What is soon to do is not looked at:
		// doctor also reports restarts of the last day and old tokens, and other specs cause both.
		Eventually(ctx, problemsOf).WithArguments(doctor.Urgent).WithTimeout(2 * time.Minute).
			WithPolling(5 * time.Second).Should(BeEmpty())
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
			expectFound(ctx, cause{severity: doctor.Urgent,
				finding: "connections: [" + suite.Worker + "]: kube-apiserver cannot reach the kubelet",
				repair:  "on the node, run `bulkhead node status`",
				begin:   removeProxy,
				undo:    func(ctx context.Context) { restoreProxy(ctx); suite.AwaitProxies(ctx) }})
		})
})
