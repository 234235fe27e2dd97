// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
	"github.com/bulkhead-k8s/bulkhead/e2e/reliability"
)

const (
	// soakMinutes is the variable with the duration of the soak test.
	soakMinutes = "E2E_SOAK_MINUTES"
	soakDefault = 60
	// samples is how often the processes are measured.
	samples = 120
	// soakFile is the file with the samples, beside the other reports.
	soakFile = "soak.json"
	// churnPods are the pods with a secret that are created and deleted in each round.
	churnPods = 20
)

// measured is a process whose resources the soak test measures.
type measured struct {
	name, host string
	// find finds the process, metrics is the port with its metrics, or 0.
	find    string
	metrics int
}

// The processes of Bulkhead with metrics and without. scope-sync and certificate-rotator do not listen
// on a port, so their goroutines are not known.
func measuredProcesses() []measured {
	const proxy = "pgrep -x kubelet-auth-pr"
	return []measured{
		{"node-authorizer", suite.ControlPlane, nodeAuthorizer.process, 10462},
		{"node-restriction", suite.ControlPlane, nodeRestriction.process, 10464},
		{"scope-sync", suite.ControlPlane, scopeSync.process, 0},
		{"certificate-rotator", suite.ControlPlane, certificateRotator, 0},
		{"proxy of the worker", suite.Worker, proxy, 10466},
		{"proxy of the control plane", suite.ControlPlane, proxy, 10466},
	}
}

// soakDuration is how long the soak test lasts.
func soakDuration() time.Duration {
	minutes, err := strconv.Atoi(os.Getenv(soakMinutes))
	if err != nil {
		minutes = soakDefault
	}
	return time.Duration(minutes) * time.Minute
}

var _ = Describe("a soak test", Serial, Label(Disruptive, OnHost, OnWorker, OnHardened, Slow, long, "soak"), func() {
	It("memory, open files and goroutines stay flat while pods come and go", Denies("NA-SECRET-1"),
		NodeTimeout(soakDuration()+30*time.Minute), func(ctx SpecContext) {
			lasts := soakDuration()
			w := startWorkload(ctx)
			p := startProbes(w.probes())
			DeferCleanup(p.end)
			soak := &reliability.Soak{Began: time.Now(), Lasted: lasts, Machine: reliability.Machine(),
				Churn: fmt.Sprintf("All probes run. %d pods with a secret are created and deleted all the time.", churnPods)}
			version, err := suite.Client.Discovery().ServerVersion()
			Expect(err).NotTo(HaveOccurred())
			soak.Kubernetes = version.GitVersion
			endChurn := startChurn(suite.Env())
			DeferCleanup(endChurn)
			for time.Since(soak.Began) < lasts {
				rest(ctx, lasts/samples)
				sample(ctx, soak)
			}
			endChurn()
			p.end()
			Expect(soak.Write(filepath.Join(suite.Settings.Artifacts, soakFile))).To(Succeed())
			Expect(p.breaches()).To(BeEmpty())
			expectFlat(soak)
		})
})

func expectFlat(soak *reliability.Soak) {
	GinkgoHelper()
	var problems []string
	for _, series := range soak.Series {
		Measured(fmt.Sprintf("%s of %s at the end", series.Quantity, series.Process),
			fmt.Sprintf("%.1f", series.Values[len(series.Values)-1]))
		if err := series.Flat(); err != nil {
			problems = append(problems, err.Error())
		}
	}
	Expect(problems).To(BeEmpty())
}

// startChurn creates and deletes pods on the worker until the returned function is called.
func startChurn(env *Env) (end func()) {
	GinkgoHelper()
	setup, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	namespace := env.Namespace(setup)
	secret := fixtures.Secret(namespace, "churn")
	env.Put(setup, secret)
	churning, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := 0; churning.Err() == nil; round++ {
			churn(churning, namespace, secret.Name, round)
		}
	}()
	return func() {
		stop()
		<-done
	}
}

// churn is one round. An error does not stop the soak test: the probes notice an API server that does
// not answer.
func churn(ctx context.Context, namespace, secret string, round int) {
	pods := suite.Client.CoreV1().Pods(namespace)
	name := func(i int) string { return fmt.Sprintf("churn-%d-%d", round, i) }
	for i := range churnPods {
		_, _ = pods.Create(ctx, fixtures.Pod(namespace, name(i), suite.Worker, fixtures.WithSecret(secret)),
			metav1.CreateOptions{})
		rest(ctx, time.Second)
	}
	for i := range churnPods {
		_ = pods.Delete(ctx, name(i), metav1.DeleteOptions{})
	}
}

// sample measures every process once.
func sample(ctx context.Context, soak *reliability.Soak) {
	GinkgoHelper()
	after := time.Since(soak.Began)
	for _, process := range measuredProcesses() {
		read := "pid=$(" + process.find + ") && sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$pid/status && " +
			"ls /proc/$pid/fd | wc -l"
		if process.metrics != 0 {
			read += fmt.Sprintf(" && curl -sS --fail --max-time 10 http://127.0.0.1:%d/metrics | "+
				"sed -n 's/^go_goroutines //p'", process.metrics)
		}
		values := strings.Fields(onHost(ctx, process.host, read))
		for i, quantity := range []reliability.Quantity{reliability.Memory, reliability.Descriptors, reliability.Goroutines} {
			if i == len(values) {
				break
			}
			value, err := strconv.ParseFloat(values[i], 64)
			Expect(err).NotTo(HaveOccurred())
			if quantity == reliability.Memory {
				value /= 1 << 10
			}
			soak.Add(process.name, quantity, after, value)
		}
	}
}
