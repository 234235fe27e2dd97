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
	floodLasts   = 8 * time.Second
	floodClients = 64
	// tooMany is more requirements than any review of a kubelet has.
	tooMany = 1001
)

// flood counts the results of many requests of one node.
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

// run repeats one request from many concurrent clients. The request does not make the API server
// read its storage.
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

// floodLabels: the spec waits for the disruptive specs of other clusters, because it needs the whole
// machine. So it runs in hardened only: the limits are the same in parity.
var floodLabels = Label(OnHost, OnWorker, OnHardened, Slow)

var _ = Describe("a flood from one node's own certificate", Serial, Ordered, floodLabels, func() {
	var (
		flooded         = &flood{codes: map[int]int{}}
		answers         []Answer
		latencies       []time.Duration
		openBefore      float64
		openAfter       float64
		kubelet, friend *Identity
	)

	BeforeAll(func(ctx SpecContext) {
		TakeMachine(ctx)
		kubelet = must(suite.RealKubelet(ctx, suite.Worker))
		friend = suite.AsNode(suite.Env().Own)
		openBefore = must(suite.FailOpen(ctx))
		during, stop := context.WithTimeout(ctx, floodLasts)
		defer stop()
		var flooding sync.WaitGroup
		flooding.Go(func() { flooded.run(during, kubelet) })
		answers, latencies = askAtKubeletRate(during, friend)
		flooding.Wait()
		openAfter = must(suite.FailOpen(ctx))
	})

	It("is answered without an error", AllowsBy("NA-LIMIT", "NA-NODE-1"), func(ctx SpecContext) {
		total := 0
		for _, n := range flooded.codes {
			total += n
		}
		Measured("flood", fmt.Sprintf("%d requests in %s, by status %v, %d denied by NA-LIMIT", total, floodLasts,
			flooded.codes, flooded.limited))
		Expect(flooded.codes).NotTo(HaveKey(http.StatusInternalServerError))
		suite.ExpectAllowed(ctx, kubelet, Get(api.Nodes).Named(suite.Worker), "NA-NODE-1")
	})

	It("does not slow down another node", AllowsBy("NA-LIMIT", "NA-UNI-SERVICES"), func() {
		slices.Sort(latencies)
		Expect(latencies).NotTo(BeEmpty())
		Measured("another node during the flood", fmt.Sprintf("p50 %s, p99 %s, of %d requests",
			latencies[len(latencies)/2].Round(time.Millisecond), latencies[len(latencies)*99/100].Round(time.Millisecond),
			len(latencies)))
		for _, answer := range answers {
			Expect(answer).To(AllowedBy(suite.Settings.Profile, "NA-UNI-SERVICES"))
		}
	})

	It("never makes the API server skip node-authorizer", AllowsBy("NA-LIMIT", "NA-UNI-SERVICES"), func() {
		Expect(openAfter).To(Equal(openBefore))
	})
})

// The denied request and the allowed request differ only in the number of requirements.
var _ = Describe("a review larger than a kubelet's", func() {
	It("is denied", Denies("NA-LIMIT"), func(ctx SpecContext) {
		own := suite.Env().Own
		suite.ExpectForbidden(ctx, suite.AsNode(own), List(api.Pods).Where(podSelector(own, tooMany)), "NA-LIMIT")
	})

	It("is allowed with fewer requirements", AllowsBy("NA-LIMIT", "NA-POD-2"), func(ctx SpecContext) {
		own := suite.Env().Own
		suite.ExpectAllowed(ctx, suite.AsNode(own), List(api.Pods).Where(podSelector(own, 2)), "NA-POD-2")
	})
})

// podSelector selects the pods of a node with so many requirements.
func podSelector(node string, requirements int) string {
	selector := make([]string, 0, requirements)
	selector = append(selector, "spec.nodeName="+node)
	for i := 1; i < requirements; i++ {
		selector = append(selector, fmt.Sprintf("metadata.name!=p%d", i))
	}
	return strings.Join(selector, ",")
}

// askAtKubeletRate makes requests at the rate of a kubelet until the context ends. It returns the
// answers and the durations.
func askAtKubeletRate(ctx context.Context, who *Identity) (answers []Answer, latencies []time.Duration) {
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
