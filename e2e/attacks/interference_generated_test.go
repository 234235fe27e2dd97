// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// seedVariable sets the seed. Without it, the seed is Ginkgo's.
	seedVariable = "E2E_SEED"
	// interferenceRounds is the number of rounds. On a slow machine there are fewer: no round begins
	// after interferenceTime, except for the first ones.
	interferenceRounds      = 20
	interferenceFirstRounds = 5
	interferenceTime        = 52 * time.Second
)

// Each round is a pair of clusters that differ only in random objects of another node. The requests are
// the same: before the objects exist, and while they exist. components/conformance/interference compares
// more pairs, without an API server.
var _ = Describe("a node, a scoped pod on it, and random objects of another node",
	Label(OnHost, OnWorker, OnHardened, Slow), func() {
		It("get the same answers with and without the objects", Denies("NA-SECRET-1"), func(ctx SpecContext) {
			seed := interferenceSeed()
			GinkgoWriter.Printf("%s=%d\n", seedVariable, seed)
			p := newPair(ctx)
			begun, rounds, objects := time.Now(), uint64(0), 0
			for rounds < interferenceRounds && (rounds < interferenceFirstRounds || time.Since(begun) < interferenceTime) {
				rounds++
				objects += p.round(ctx, seed, rounds)
			}
			who := "a node and a scoped pod"
			if p.agent == nil {
				who = "a node, without node scope"
			}
			Measured("clusters with the same answers", fmt.Sprintf("%d pairs that differ in %d objects, for %s, %s=%d",
				rounds, objects, who, seedVariable, seed))
		})
	})

func interferenceSeed() uint64 {
	GinkgoHelper()
	text := os.Getenv(seedVariable)
	if text == "" {
		return uint64(GinkgoRandomSeed())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	Expect(err).NotTo(HaveOccurred(), "%s must be a whole number", seedVariable)
	return seed
}

// round compares one pair and returns the number of its unrelated objects. A difference must show twice:
// on a busy machine the API server may repeat a call of a webhook, which causes more live reads.
func (p *pair) round(ctx context.Context, seed, round uint64) int {
	GinkgoHelper()
	suffix := fmt.Sprintf("%s-%d", strings.TrimPrefix(p.env.Own, "e2e-own"), round)
	g := newGenerator(seed, round, p.namespace, p.env.Other+"-"+strconv.FormatUint(round, 10), suffix)
	groups, requests := g.groups(), p.requests(g)
	found := p.compare(ctx, g, requests, groups)
	if len(found) == 0 {
		return len(slices.Concat(groups...))
	}
	AddReportEntry(fmt.Sprintf("difference in round %d, %s=%d", round, seedVariable, seed), strings.Join(found, "\n"))
	if found = p.compare(ctx, g, requests, groups); len(found) > 0 {
		AddReportEntry("the same difference again", strings.Join(found, "\n"))
		groups, found = p.shrink(ctx, g, requests, groups, found)
		Fail(fmt.Sprintf("%s=%d, round %d: an answer depends on unrelated objects\n%s\nthese objects are enough:\n  %s",
			seedVariable, seed, round, strings.Join(found, "\n"), textOf(groups)))
	}
	return len(slices.Concat(groups...))
}

// compare makes the requests before the objects exist and while they exist.
func (p *pair) compare(ctx context.Context, g *unrelatedGenerator, requests []comparedRequest,
	groups []unrelatedGroup) []string {
	GinkgoHelper()
	without := p.visit(ctx, requests)
	p.create(ctx, groups)
	with := p.visit(ctx, requests)
	p.remove(ctx)
	p.readAuditLog(ctx, g.names, without, with)
	without.expectDecided(requests)
	return without.differences(with)
}

// shrink leaves out one group after the other, as long as a difference remains.
func (p *pair) shrink(ctx context.Context, g *unrelatedGenerator, requests []comparedRequest,
	groups []unrelatedGroup, found []string) (fewest []unrelatedGroup, remaining []string) {
	GinkgoHelper()
	for i := 0; i < len(groups); {
		fewer := slices.Delete(slices.Clone(groups), i, i+1)
		less := p.compare(ctx, g, requests, fewer)
		if len(less) == 0 {
			i++
			continue
		}
		groups, found = fewer, less
	}
	return groups, found
}

func textOf(groups []unrelatedGroup) string {
	var all []string
	for _, group := range groups {
		all = append(all, group.String())
	}
	return strings.Join(all, "\n  ")
}
