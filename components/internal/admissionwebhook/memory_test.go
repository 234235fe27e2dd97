// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// sized returns a review by a user, of about size bytes.
func sized(user string, size int) string {
	return reviewOf(func(f *fields) {
		f.user = fmt.Sprintf(`{"username":%q}`, user)
		f.object = podWith(`"annotations":{"a":"` + strings.Repeat("a", size) + `"}`)
	})
}

// blocked is a reviewer whose calls wait until the test releases them.
type blocked struct{ entered, leave chan struct{} }

func newBlocked() blocked {
	return blocked{entered: make(chan struct{}, 1000), leave: make(chan struct{})}
}

func (b blocked) Review(context.Context, admission.Attributes) rules.Decision {
	b.entered <- struct{}{}
	<-b.leave
	return rules.Decision{Effect: rules.Allow}
}

// waiting is a handler whose reviewer is still deciding on reviews.
type waiting struct {
	*Handler
	blocked
	done chan string
}

func newWaiting(limits webhook.Limits) *waiting {
	b := newBlocked()
	config := testConfig(b)
	config.Limits = limits
	return &waiting{Handler: New(config), blocked: b, done: make(chan string, 1000)}
}

func (w *waiting) ask(body string) {
	go func() { w.done <- post(w.Handler, body).Body.String() }()
	synctest.Wait()
}

// end releases all reviews and expects that they are admitted.
func (w *waiting) end(t *testing.T, asked int) {
	t.Helper()
	if len(w.entered) != asked {
		t.Errorf("%d reviews at one time, want %d", len(w.entered), asked)
	}
	close(w.leave)
	for range asked {
		if body := <-w.done; !strings.Contains(body, `"allowed":true`) {
			t.Errorf("a review that waited was answered %s", body)
		}
	}
	expectIdle(t, w.Handler)
}

func tooMany(text string) reply { return beyond(429, metav1.StatusReasonTooManyRequests, text) }

// If decisions do not return, a waiting request is denied before the API server times out.
func TestRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newWaiting(webhook.Limits{InFlight: 3, InFlightPerNode: 2})
		h.ask(sized("system:node:x", 0))
		h.ask(sized("system:node:x", 0))
		h.ask(sized("system:node:y", 0))
		for _, row := range []struct {
			name, user string
			want       reply
			after      time.Duration
		}{
			{"a node over its own bound is told so", "system:node:x", tooMany("the node has too many requests in flight"),
				queueTimeout},
			{"a node within its bound meets the bound of all", "system:node:y", tooMany("too many requests in flight"),
				queueTimeout},
			{"who is no node takes no place", "x", admitted(), 0},
		} {
			started := time.Now()
			if diff := cmp.Diff(row.want, replyTo(t, h, sized(row.user, 0))); diff != "" {
				t.Errorf("%s (-want +got)\n%s", row.name, diff)
			}
			if waited := time.Since(started); waited != row.after {
				t.Errorf("%s after %v, want %v", row.name, waited, row.after)
			}
		}
		h.end(t, 3)
	})
}

func TestMemory(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name string
		// held are the users whose reviews are still undecided when the last review arrives.
		held []string
		last string
		want reply
	}{
		{"a node may have one of the largest", []string{sized("system:node:x", 5*mib)}, sized("system:node:y", 5*mib),
			admitted()},
		{"a node may not have two", []string{sized("system:node:x", 5*mib)}, sized("system:node:x", 5*mib),
			tooMany("the node's requests in flight are too large")},
		{"what it has that is small does not count", []string{sized("system:node:x", 5*mib)}, sized("system:node:x", 0),
			admitted()},
		{"four nodes fill the memory", []string{
			sized("system:node:1", 7*mib), sized("system:node:2", 7*mib), sized("system:node:3", 7*mib),
			sized("system:node:4", 7*mib),
		}, sized("system:node:x", 7*mib), tooMany("the requests in flight are too large")},
		{"but not that of small reviews", []string{
			sized("system:node:1", 7*mib), sized("system:node:2", 7*mib), sized("system:node:3", 7*mib),
			sized("system:node:4", 7*mib),
		}, sized("system:node:x", 0), admitted()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newWaiting(webhook.Limits{InFlight: 100, InFlightPerNode: 100})
				for _, body := range tt.held {
					h.ask(body)
				}
				if tt.want.Response.Allowed {
					h.ask(tt.last)
					h.end(t, len(tt.held)+1)
					return
				}
				if diff := cmp.Diff(tt.want, replyTo(t, h, tt.last)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				h.end(t, len(tt.held))
			})
		})
	}
}

// A node that sends many small reviews is denied at once when it exceeds its share. Other nodes are
// not affected.
func TestManyReviewsOfOneNodeLeaveMemoryForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newWaiting(webhook.Limits{InFlight: 1000, InFlightPerNode: 1000})
		const size = 120 << 10
		admittedOnes := 0
		for len(h.done) == 0 && admittedOnes < 500 {
			h.ask(sized("system:node:x", size))
			admittedOnes = len(h.entered)
		}
		if want := smallMemory / memoryShares / (size + 500); admittedOnes > want+1 || admittedOnes < want-1 {
			t.Errorf("%d reviews at one time, want about %d", admittedOnes, want)
		}
		if body := <-h.done; !strings.Contains(body, `"code":429`) {
			t.Errorf("the first beyond was answered %s", body)
		}
		h.ask(sized("system:node:y", size))
		h.end(t, admittedOnes+1)
	})
}

// A body that never arrives leaves no reserved memory behind.
func TestABodyThatEndsEarly(t *testing.T) {
	h := New(testConfig(allowing()))
	req := httptest.NewRequest(http.MethodPost, "/admit", io.MultiReader(strings.NewReader(reviewOf(nil)[:50]), failing{}))
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = 5 << 20
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
	expectIdle(t, h)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Ten thousand invented names leave no entries behind.
func TestInventedNodeNamesLeaveNoEntries(t *testing.T) {
	h := New(testConfig(allowing()))
	for i := range 10_000 {
		post(h, sized(fmt.Sprintf("system:node:%d", i), 0))
	}
	expectIdle(t, h)
}
