// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func reviewBy(user string) string {
	return head + fmt.Sprintf(`{"user":%q,%s}}`, user, getPod)
}

var allowedReply = reply{200, status{Allowed: true, Reason: "[NA-TEST-1]"}}

// blocked is an authorizer whose calls wait until the test releases them.
type blocked struct{ entered, leave chan struct{} }

func (b blocked) Decide(context.Context, authorizer.Attributes) rules.Decision {
	b.entered <- struct{}{}
	<-b.leave
	return rules.Decision{Effect: rules.Allow}
}

// If decisions do not return, a waiting request is denied before the API server times out. If they
// return, the waiting request is decided.
func TestRequestsInFlight(t *testing.T) { synctest.Test(t, testRequestsInFlight) }

func testRequestsInFlight(t *testing.T) {
	b := blocked{entered: make(chan struct{}, 9), leave: make(chan struct{})}
	config := testConfig(b.Decide)
	config.Limits = webhook.Limits{InFlight: 3, InFlightPerNode: 2}
	h := New(config)
	done := make(chan string, 9)
	ask := func(user string) {
		go func() { done <- post(h, reviewBy(user)).Body.String() }()
		synctest.Wait()
	}
	ask("system:node:x")
	ask("system:node:x")
	ask("system:node:y")
	own := reply{200, denied("the node has too many requests in flight [NA-LIMIT]")}
	full := reply{200, denied("too many requests in flight [NA-LIMIT]")}
	for _, row := range []struct {
		name, user string
		want       reply
	}{
		{"a node over its own bound is told so", "system:node:x", own},
		{"a node within its bound meets the bound of all", "system:node:y", full},
		{"others meet the bound of all", "x", full},
	} {
		started := time.Now()
		if diff := cmp.Diff(row.want, replyTo(t, h, reviewBy(row.user))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", row.name, diff)
		}
		if waited := time.Since(started); waited != queueTimeout {
			t.Errorf("%s after %v, want %v", row.name, waited, queueTimeout)
		}
	}
	ask("system:node:x")
	ask("x")
	if len(b.entered) != 3 {
		t.Errorf("%d decisions at one time, want 3", len(b.entered))
	}
	time.Sleep(queueTimeout / 2)
	close(b.leave)
	for range 5 {
		if body := <-done; !strings.Contains(body, `"allowed":true`) {
			t.Errorf("a request that waited was answered %s", body)
		}
	}
	if err := h.Idle(); err != nil {
		t.Error(err)
	}
}

// A user who may create SubjectAccessReviews can name any node, as often as the API server allows.
// This must not affect the node's own requests.
func TestManyReviewsOfANodeDoNotUseUpItsShare(t *testing.T) {
	h := New(testConfig(asX))
	for range 10_000 {
		post(h, reviewBy("system:node:x"))
	}
	if diff := cmp.Diff(allowedReply, replyTo(t, h, reviewBy("system:node:x"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A node has a small share, and as many concurrent callers as an API server can be. The requests
// wait, and none is denied. Each decision takes simulated time. So the result depends on leaked and
// misordered places only, not on the speed of the machine.
func TestConcurrentReviewsOfANodeWaitForItsShare(t *testing.T) {
	synctest.Test(t, testConcurrentReviewsOfANode)
}

func testConcurrentReviewsOfANode(t *testing.T) {
	const callers, share, decision = 600, 2, time.Millisecond
	config := testConfig(func(ctx context.Context, a authorizer.Attributes) rules.Decision {
		time.Sleep(decision)
		return asX(ctx, a)
	})
	config.Limits = webhook.Limits{InFlight: 8, InFlightPerNode: share}
	if turn := callers / share * decision; turn >= queueTimeout {
		t.Fatalf("a request waits %v for a place, and is denied after %v", turn, queueTimeout)
	}
	h := New(config)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range 5 {
				if got := replyTo(t, h, reviewBy("system:node:x")); !got.Status.Allowed {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	group.Wait()
	if err := h.Idle(); err != nil {
		t.Error(err)
	}
}

// Ten thousand invented names leave no entries behind, and every node keeps its share.
func TestInventedNodeNamesLeaveNoEntries(t *testing.T) {
	h := New(testConfig(asX))
	for i := range 10_000 {
		post(h, reviewBy(fmt.Sprintf("system:node:%d", i)))
	}
	if err := h.Idle(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(allowedReply, replyTo(t, h, reviewBy("system:node:x"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
