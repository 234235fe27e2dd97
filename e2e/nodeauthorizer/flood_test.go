// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// floodLasts is long enough to use up what a node may save up for a burst.
	floodLasts   = 8 * time.Second
	floodClients = 64
	// calmAfter is how soon a node has its rights back once it stops.
	calmAfter = 5 * time.Second
)

// flood is what became of many requests of one node.
type flood struct {
	mu      sync.Mutex
	limited int
	codes   map[int]int
}

func (f *flood) count(code int, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.codes[code]++
	if strings.Contains(message, "[NA-LIMIT]") {
		f.limited++
	}
}

// run asks for the same thing again and again, from many clients at once. What
// it asks for costs the API server no look into its storage.
func (f *flood) run(ctx context.Context, who *Identity) {
	var clients sync.WaitGroup
	for range floodClients {
		clients.Go(func() {
			for ctx.Err() == nil {
				if code, message, err := who.Send(ctx, List(api.Nodes)); err == nil {
					f.count(code, message)
				}
			}
		})
	}
	clients.Wait()
}

// Serial: it takes the machine from others.
var _ = Describe("a flood from one node's own certificate", Serial, Ordered, Label(OnHost, OnWorker, Slow), func() {
	var (
		flooded         = &flood{codes: map[int]int{}}
		answers         []Answer
		latencies       []time.Duration
		openBefore      float64
		openAfter       float64
		kubelet, friend *Identity
	)

	BeforeAll(func(ctx SpecContext) {
		kubelet = must(suite.RealKubelet(ctx, suite.Worker))
		friend = suite.AsNode(suite.Scene().Own)
		openBefore = must(suite.FailOpen(ctx))
		during, stop := context.WithTimeout(ctx, floodLasts)
		defer stop()
		var flooding sync.WaitGroup
		flooding.Go(func() { flooded.run(during, kubelet) })
		answers, latencies = askCalmly(during, friend)
		flooding.Wait()
		openAfter = must(suite.FailOpen(ctx))
	})

	It("is denied above the node's share", Denies("NA-LIMIT"), func() {
		total := 0
		for _, n := range flooded.codes {
			total += n
		}
		Measured("flood", fmt.Sprintf("%d requests in %s, by status %v, %d denied by NA-LIMIT", total, floodLasts, flooded.codes, flooded.limited))
		Expect(flooded.limited).To(BeNumerically(">", 0))
		Expect(flooded.codes).NotTo(HaveKey(http.StatusInternalServerError))
	})

	It("takes nothing from another node", AllowsBy("NA-LIMIT", "NA-UNI-SERVICES"), func() {
		slices.Sort(latencies)
		Expect(latencies).NotTo(BeEmpty())
		Measured("another node during the flood", fmt.Sprintf("p50 %s, p99 %s, of %d requests",
			latencies[len(latencies)/2].Round(time.Millisecond), latencies[len(latencies)*99/100].Round(time.Millisecond), len(latencies)))
		for _, answer := range answers {
			Expect(answer).To(AllowedBy(suite.Settings.Profile, "NA-UNI-SERVICES"))
		}
	})

	It("makes the API server pass us by not once", AllowsBy("NA-LIMIT", "NA-UNI-SERVICES"), func() {
		Expect(openAfter).To(Equal(openBefore))
	})

	It("is forgiven when it ends", AllowsBy("NA-LIMIT", "NA-NODE-1"), func(ctx SpecContext) {
		Eventually(ctx, func() (Answer, error) { return suite.Do(ctx, kubelet, Get(api.Nodes).Named(suite.Worker)) }).
			WithTimeout(calmAfter).WithPolling(100 * time.Millisecond).
			Should(AllowedBy(suite.Settings.Profile, "NA-NODE-1"))
	})
})

// askCalmly asks at a kubelet's pace until the context ends, and times the
// requests.
func askCalmly(ctx context.Context, who *Identity) (answers []Answer, latencies []time.Duration) {
	GinkgoHelper()
	const pace = 50 * time.Millisecond
	for ctx.Err() == nil {
		started := time.Now()
		answer, err := suite.Do(ctx, who, List(api.Services).In("default"))
		if ctx.Err() != nil {
			return answers, latencies
		}
		Expect(err).NotTo(HaveOccurred())
		answers, latencies = append(answers, answer), append(latencies, time.Since(started))
		time.Sleep(pace)
	}
	return answers, latencies
}
