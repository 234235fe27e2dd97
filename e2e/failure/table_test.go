// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
	"github.com/bulkhead-k8s/bulkhead/e2e/reliability"
)

const (
	// long labels the long form of a disruption. `make test` runs the short form.
	long = "long"
	// load labels specs that send many requests all the time. `make test` runs no other suite beside them.
	load = "load"
	// recovery bounds the time from the repair until every call is answered as before.
	recovery = 5 * time.Minute
	// settled is how long the calls are watched after the recovery, and longSettled in the long form: a
	// program may remember an answer for some seconds.
	settled, longSettled = 3 * time.Second, 20 * time.Second
)

// disruptions is the table. `make failure` writes docs/reliability.md in its order.
func disruptions() []disruption {
	return slices.Concat(componentDisruptions(), fileDisruptions(), hostDisruptions(), loadDisruptions())
}

func TestDisruptionsAreComplete(t *testing.T) {
	labels := map[string]bool{}
	for _, d := range disruptions() {
		label := reliability.Label(d.name)
		if labels[label] || d.broken == "" || d.long == 0 || d.repair == nil || (d.short == 0) != (d.onlyLong != "") {
			t.Errorf("%s: it needs a name of its own, what is broken, a long form, a repair, and either a short form or the "+
				"reason why it has none", d.name)
		}
		labels[label] = true
	}
}

// The specs share one workload. A spec that fails repairs what it has broken, so the next one runs. Each
// spec ends only after node-authorizer denies an attack again.
var _ = Describe("a running workload and", Serial, Ordered, ContinueOnFailure,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow, load), Denies("NA-SECRET-1"), func() {
		var w *workload

		BeforeAll(func(ctx SpecContext) {
			TakeMachine(ctx)
			w = startWorkload(ctx)
		})

		for place, d := range disruptions() {
			label := Label(reliability.Label(d.name))
			if d.short > 0 {
				It(d.name+", short", SlowSpec, label, func(ctx SpecContext) { w.survives(ctx, d, d.short).expect() })
			}
			It(d.name+", long", SlowSpec, label, Label(long), func(ctx SpecContext) {
				result := &reliability.Result{Place: place, Name: d.name, Broken: d.text()}
				if d.unfit != nil {
					if result.NotRun = d.unfit(ctx); result.NotRun != "" {
						write(result)
						Skip(result.NotRun)
					}
				}
				o := w.survives(ctx, d, d.long)
				o.fill(ctx, result)
				write(result)
				o.expect()
			})
		}
	})

// observation is what the probes saw of a disruption.
type observation struct {
	began              time.Time
	lasted, recovery   time.Duration
	probes             *probes
	notReady, problems []string
	// expected is true if the nodes that were not Ready may be.
	expected bool
}

// survives breaks a part of the cluster for a time, repairs it, and waits until every call is
// answered as before.
func (w *workload) survives(ctx context.Context, d disruption, lasts time.Duration) *observation {
	GinkgoHelper()
	suite.AwaitProxies(ctx)
	p := startProbes(w.probes())
	DeferCleanup(p.end)
	Eventually(ctx, p.recovered).WithTimeout(recovery).WithPolling(pace).Should(Succeed(), "before the disruption")
	before, restarts := awaitReady(ctx), w.awaitRestarts(ctx)
	p.begin()

	DeferCleanup(d.repair)
	o := &observation{probes: p, began: time.Now()}
	d.lasts(ctx, lasts)
	o.lasted = time.Since(o.began)
	p.forget()
	repaired := time.Now()
	d.repair(ctx)
	Eventually(ctx, p.recovered).WithTimeout(recovery).WithPolling(pace).Should(Succeed(), "after the repair")
	o.recovery = max(0, p.since().Sub(repaired))
	after := awaitReady(ctx)

	refused := p.refusals()
	if lasts == d.long {
		rest(ctx, longSettled)
	}
	rest(ctx, settled)
	p.end()
	o.compare(d, lasts, before, after, refused)
	if now := w.awaitRestarts(ctx); now != restarts {
		o.problems = append(o.problems, fmt.Sprintf("containers of the workload were restarted: %d", now-restarts))
	}
	Measured(d.name, o.String())
	return o
}

// lasts breaks the part for the given time.
func (d *disruption) lasts(ctx context.Context, lasts time.Duration) {
	GinkgoHelper()
	end := time.Now().Add(lasts)
	if d.begin != nil {
		d.begin(ctx)
	}
	if d.sized != nil {
		d.sized(ctx, lasts)
	}
	for d.again != nil && time.Now().Before(end) && ctx.Err() == nil {
		d.again(ctx)
	}
	rest(ctx, time.Until(end))
	if d.last != nil {
		d.last(ctx)
	}
}

// compare finds what did not meet the expectations.
func (o *observation) compare(d disruption, lasts time.Duration, before, after map[string]time.Time,
	refused map[string]int) {
	o.problems = append(o.problems, o.probes.breaches()...)
	o.compareNodes(d, lasts, before, after)
	// Where a read that needs no webhook is slow, other calls fail without any disruption.
	slowMachine := slices.Contains(d.unaffected, adminReads) && o.probes.longest(adminReads) >= slow
	if slowMachine {
		Measured(d.name, "the machine was too slow to tell which calls failed because of the disruption")
	}
	for _, p := range o.probes.all {
		if p.refusals > refused[p.name] {
			o.problems = append(o.problems, "denied after the recovery: "+p.name+": "+strings.Join(p.wrong, "; "))
		}
		if slices.Contains(d.unaffected, call(p.name)) && (p.calls.Denied > 0 || p.calls.Failed > 0 && !slowMachine) {
			o.problems = append(o.problems, "affected: "+p.name+": "+strings.Join(p.wrong, "; "))
		}
		if slices.Contains(d.affected, call(p.name)) && !p.noticed() {
			o.problems = append(o.problems, "not affected, so nothing was broken: "+p.name)
		}
	}
}

// compareNodes finds nodes that were not Ready for some time and should have been.
func (o *observation) compareNodes(d disruption, lasts time.Duration, before, after map[string]time.Time) {
	var may []string
	if d.notReady != nil {
		may = d.notReady(lasts)
	}
	o.expected = len(may) > 0
	for node, changed := range after {
		if changed.Equal(before[node]) {
			continue
		}
		o.notReady = append(o.notReady, node)
		if !slices.Contains(may, node) {
			o.problems = append(o.problems, "not Ready for some time: "+node)
		}
	}
	slices.Sort(o.notReady)
}

// expect fails the spec if there are problems.
func (o *observation) expect() {
	GinkgoHelper()
	for _, p := range o.probes.all {
		GinkgoWriter.Printf("%s: %+v\n  %s\n", p.name, p.calls, strings.Join(p.wrong, "\n  "))
	}
	Expect(o.problems).To(BeEmpty())
}

func (o *observation) String() string {
	text := fmt.Sprintf("lasted %s, recovered in %s", o.lasted.Round(100*time.Millisecond),
		o.recovery.Round(100*time.Millisecond))
	for _, p := range o.probes.all {
		if !p.attack && p.noticed() {
			text += fmt.Sprintf("; %s: %d of %d failed, %d denied, longest %s", p.name, p.calls.Failed, p.calls.All(),
				p.calls.Denied, p.calls.Longest.Round(100*time.Millisecond))
		}
	}
	return text
}

// fill adds the observation to a result.
func (o *observation) fill(ctx context.Context, r *reliability.Result) {
	r.Began, r.Lasted, r.Recovery, r.NotReady, r.Expected = o.began, o.lasted, o.recovery, o.notReady, o.expected
	r.Problems, r.Machine = o.problems, reliability.Machine()
	for _, p := range o.probes.all {
		r.Calls = append(r.Calls, p.calls)
	}
	if version, err := suite.Client.Discovery().ServerVersion(); err == nil {
		r.Kubernetes = version.GitVersion
	}
}

// write writes a result for the page.
func write(r *reliability.Result) {
	GinkgoHelper()
	Expect(r.Write(filepath.Join(suite.Settings.Artifacts, reliability.Directory))).To(Succeed())
}

// transitions returns when the condition Ready of each node with a kubelet last changed. If a node was
// not Ready in between, the time is another one.
func transitions(ctx context.Context) map[string]time.Time {
	GinkgoHelper()
	list, err := suite.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
	Expect(err).NotTo(HaveOccurred())
	all := map[string]time.Time{}
	for _, node := range list.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" {
				all[node.Name] = condition.LastTransitionTime.Time
			}
		}
	}
	return all
}

// awaitReady waits until every node is Ready, and returns the transitions.
func awaitReady(ctx context.Context) map[string]time.Time {
	GinkgoHelper()
	Eventually(ctx, func() (bool, error) {
		list, err := suite.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
		ready := err == nil
		if err == nil {
			for i := range list.Items {
				ready = ready && IsReady(&list.Items[i])
			}
		}
		return ready, err
	}).WithTimeout(recovery).WithPolling(time.Second).Should(BeTrue(), "every node is Ready")
	return transitions(ctx)
}

// awaitRestarts returns how often containers of the workload were restarted.
func (w *workload) awaitRestarts(ctx context.Context) (all int32) {
	GinkgoHelper()
	Eventually(ctx, func() (err error) {
		all, err = w.restarts(ctx)
		return err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(Succeed())
	return all
}
