// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// latency is the server's response time during a flood.
const latency = 10 * time.Millisecond

// flooding repeatedly asks for the node about n names at the same time, until end.
func flooding(r *Reader, t *testing.T, node string, n int, end time.Time) func() {
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			for j := 0; time.Now().Before(end); j++ {
				name := fmt.Sprint(i, "-", j)
				if i%2 == 0 {
					secret(t.Context(), r, node, name)
				} else {
					attachment(t.Context(), r, node, name)
				}
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
	return callers.Wait
}

// delays makes a node ask about a secret and an attachment every 100 ms. It returns the longest
// wait.
func delays(t *testing.T, r *Reader, node string, end time.Time) time.Duration {
	t.Helper()
	var answers tally
	for i := 0; time.Now().Before(end); i++ {
		answers.ask(func() string { return secret(t.Context(), r, node, fmt.Sprint(i)) })
		answers.ask(func() string { return attachment(t.Context(), r, node, fmt.Sprint(i)) })
		time.Sleep(100 * time.Millisecond)
	}
	if len(answers.count) != 1 || answers.count[""] == 0 {
		t.Errorf("%s got %v", node, answers.count)
	}
	return answers.most[""]
}

// The documented limit of the delay is the time of two reads for every node that floods the
// authorizer.
func TestAFloodDelaysOtherNodesByTwoReads(t *testing.T) {
	for _, row := range []struct{ nodes, names int }{{1, 10_000}, {20, 200}} {
		t.Run(fmt.Sprintf("%d nodes", row.nodes), func(t *testing.T) {
			bubble(t, after(latency, both), func(t *testing.T, _ *server, r *Reader) {
				end := time.Now().Add(3 * time.Second)
				for i := range row.nodes {
					defer flooding(r, t, fmt.Sprint("flood", i), row.names, end)()
				}
				bound := latency + time.Duration(2*row.nodes+1)*time.Second/200
				if got := delays(t, r, "quiet", end); got > bound {
					t.Errorf("a node that is right waits %v, want %v at most", got, bound)
				}
			})
		})
	}
}

// Any user can put a node's name into requests. Questions that a list answers must still not be
// refused for the node while waiting places are free.
func TestAFloodInANodesNameDoesNotTakeItsLists(t *testing.T) {
	bubble(t, after(latency, both), func(t *testing.T, _ *server, r *Reader) {
		end := time.Now().Add(3 * time.Second)
		var callers sync.WaitGroup
		for i := range 10_000 {
			callers.Go(func() {
				for j := 0; time.Now().Before(end); j++ {
					attachment(t.Context(), r, "n1", fmt.Sprint(i, "-", j))
					time.Sleep(500 * time.Millisecond)
				}
			})
		}
		for i := range 40 {
			callers.Go(func() {
				for j := 0; time.Now().Before(end); j++ {
					secret(t.Context(), r, "n1", fmt.Sprint("made-up-", i, "-", j))
				}
			})
		}
		var answers tally
		for i := 0; time.Now().Before(end); i++ {
			answers.ask(func() string { return secret(t.Context(), r, "n1", fmt.Sprint(i)) })
			time.Sleep(time.Millisecond)
		}
		bound := 50*time.Millisecond + 2*latency
		if len(answers.count) != 1 || answers.most[""] > bound {
			t.Errorf("the node itself got %v and waited %v, want %v at most", answers.count, answers.most, bound)
		}
		callers.Wait()
	})
}

// Names of nodes that do not exist do not bypass the line.
func TestInventedNodeNamesDoNotDelayOtherNodes(t *testing.T) {
	bubble(t, after(latency, both), func(t *testing.T, _ *server, r *Reader) {
		end := time.Now().Add(3 * time.Second)
		var callers sync.WaitGroup
		for i := range 1000 {
			callers.Go(func() {
				for j := 0; time.Now().Before(end); j++ {
					r.RefreshNode(t.Context(), fmt.Sprint("made-up-", i, "-", j))
				}
			})
		}
		bound := latency + time.Duration(DefaultLimits().Strangers+1)*time.Second/200
		if got := delays(t, r, "quiet", end); got > bound {
			t.Errorf("a node that is right waits %v, want %v at most", got, bound)
		}
		callers.Wait()
	})
}
