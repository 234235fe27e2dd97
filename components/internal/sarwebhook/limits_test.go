// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	testclock "k8s.io/utils/clock/testing"
)

func reviewBy(user string) string {
	return head + fmt.Sprintf(`{"user":%q,%s}}`, user, getPod)
}

func overShare(node string) reply {
	return reply{200, denied(fmt.Sprintf("node %q is over its share of requests [NA-LIMIT]", node))}
}

var (
	allowedReply   = reply{200, status{Allowed: true, Reason: "[NA-TEST-1]"}}
	noOpinionReply = reply{200, status{Reason: "not x [NA-TEST-1]"}}
)

func TestRateOfOneNode(t *testing.T) {
	config := testConfig(asX)
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	config.Clock = clock
	h := New(config)
	// Burst 5 at 10/s: each row is one request, after a pause.
	for i, row := range []struct {
		after time.Duration
		user  string
		want  reply
	}{
		{0, "system:node:x", allowedReply},
		{0, "system:node:x", allowedReply},
		{0, "system:node:x", allowedReply},
		{0, "system:node:x", allowedReply},
		{0, "system:node:x", allowedReply},
		{0, "system:node:x", overShare("x")},
		{0, "system:node:y", noOpinionReply},
		{0, "admin", noOpinionReply},
		{99 * time.Millisecond, "system:node:x", overShare("x")},
		{time.Millisecond, "system:node:x", allowedReply},
		{0, "system:node:x", overShare("x")},
		{time.Hour, "system:node:x", allowedReply},
	} {
		clock.SetTime(clock.Now().Add(row.after))
		if diff := cmp.Diff(row.want, replyTo(t, h, reviewBy(row.user))); diff != "" {
			t.Errorf("request %d (-want +got)\n%s", i, diff)
		}
	}
}

func TestOthersHaveNoRate(t *testing.T) {
	h := New(testConfig(asX))
	for range 100 {
		if diff := cmp.Diff(noOpinionReply, replyTo(t, h, reviewBy("admin"))); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	}
}

// blocked is an authorizer whose calls wait until they are let go.
type blocked struct{ entered, leave chan struct{} }

func (b blocked) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	b.entered <- struct{}{}
	<-b.leave
	return authorizer.DecisionAllow, "", nil
}

func TestRequestsInFlight(t *testing.T) {
	b := blocked{entered: make(chan struct{}), leave: make(chan struct{})}
	config := testConfig(b.Authorize)
	config.Limits = Limits{InFlight: 3, InFlightPerNode: 2, NodeQPS: 100, NodeBurst: 100}
	h := New(config)
	done := make(chan string)
	for _, user := range []string{"system:node:x", "system:node:x", "system:node:y"} {
		go func() { done <- post(h, reviewBy(user)).Body.String() }()
		<-b.entered
	}
	full := reply{200, denied("too many requests in flight [NA-LIMIT]")}
	for _, row := range []struct {
		name, user string
		want       reply
	}{
		{"a node over its own bound is told so", "system:node:x", overShare("x")},
		{"a node within its bound meets the bound of all", "system:node:y", full},
		{"others meet the bound of all", "admin", full},
	} {
		if diff := cmp.Diff(row.want, replyTo(t, h, reviewBy(row.user))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", row.name, diff)
		}
	}
	close(b.leave)
	for range 3 {
		if body := <-done; !strings.Contains(body, `"allowed":true`) {
			t.Errorf("a request in flight was answered %s", body)
		}
	}
	go func() { <-b.entered }()
	if got := replyTo(t, h, reviewBy("system:node:x")); !got.Status.Allowed {
		t.Errorf("after the others left: %+v, want allowed", got)
	}
	if h.limiter.inFlight != 0 {
		t.Errorf("%d requests still in flight", h.limiter.inFlight)
	}
}

func TestNamesCannotGrowMemory(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	l := newLimiter(Limits{InFlight: 1000, InFlightPerNode: 1000, NodeQPS: 1, NodeBurst: 2}, clock)
	l.maxNodes = 3
	admit := func(node string) excess {
		s, over := l.admit(node, true)
		if over == withinLimits {
			l.release(s)
		}
		return over
	}
	long := strings.Repeat("n", maxNodeName+1)
	steps := []struct {
		node string
		want excess
	}{
		{"a", withinLimits},
		{"b", withinLimits},
		{long, withinLimits}, // the overflow's first token
		{"c", withinLimits},
		{"d", withinLimits}, // the table is full: the overflow's second
		{"e", nodeRate},
		{long, nodeRate},
		{"a", withinLimits}, // who has an entry keeps it
		{"a", nodeRate},
	}
	for i, step := range steps {
		if got := admit(step.node); got != step.want {
			t.Errorf("step %d, node %.5s: %q, want %q", i, step.node, got, step.want)
		}
	}
	if len(l.nodes) != 3 {
		t.Errorf("%d entries, want 3", len(l.nodes))
	}
	clock.SetTime(clock.Now().Add(sweepInterval))
	held, _ := l.admit("b", true)
	clock.SetTime(clock.Now().Add(sweepInterval))
	if admit("f"); len(l.nodes) != 2 || l.nodes["b"] != held || l.nodes["f"] == nil {
		t.Errorf("entries after the sweep: %v, want b, which is in flight, and f", l.nodes)
	}
}
