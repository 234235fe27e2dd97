// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// callTimeout is when a stall would be broken up by the server. The API server
	// gives up after 3 s, but so may this machine when it is busy.
	callTimeout = readTimeout
	// floodClients is more than the reviews that could be read at one time when
	// such a flood stalled the connection, and floodBody times that is more than a
	// connection may send unread by default.
	floodClients = 390
	floodBody    = 300 << 10
	honestCalls  = 40
	reviewHead   = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"`
	honestReview = reviewHead + `system:node:b","groups":["system:nodes"],"resourceAttributes":{"verb":"get","resource":"pods"}}}`
)

func allowAll(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "[NA-TEST-1]", nil
}

// caller is an API server: all its calls share one connection.
type caller struct {
	client *http.Client
	url    string
}

func (c caller) post(ctx context.Context, body io.Reader) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, body)
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(req)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.Proto, " ", response.StatusCode, " ", string(answer)), err
}

// flood sends reviews that are too large, all at once, and returns how many were
// not answered.
func (c caller) flood(ctx context.Context) int {
	var failures atomic.Int64
	var clients sync.WaitGroup
	large := reviewHead + strings.Repeat("a", floodBody)
	for range floodClients {
		clients.Go(func() {
			answer, err := c.post(ctx, strings.NewReader(large))
			if err != nil || !strings.Contains(answer, `"denied":true`) {
				failures.Add(1)
			}
		})
	}
	clients.Wait()
	return int(failures.Load())
}

// Reviews that are too large, as many at once as an API server can send, beside
// those of an honest node on the same connection. A call that is not answered is
// a call that another authorizer answers.
func TestLargeReviewsDoNotStallTheOthers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		reading int
	}{
		{"with a turn for every request", MaxStreams},
		{"with few turns", 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ca := newTestCA(t)
			config := configFor(t, ca, nil)
			config.Handler = sarwebhook.New(sarwebhook.Config{
				Authorizer: authorizer.AuthorizerFunc(allowAll), NodeName: nodeidentity.NodeName,
				Limits: sarwebhook.Limits{InFlight: 2000, InFlightPerNode: 200}, MaxReading: tt.reading,
				LimitRule: rules.Rule{ID: "NA-LIMIT"}, Registry: config.Registry, Logger: klog.Background(), Clock: clock.RealClock{},
			})
			r := start(t, config, ca.goodClient(t))
			api := caller{client: r.client, url: r.webhook}
			failed := make(chan int, 1)
			go func() { failed <- api.flood(t.Context()) }()
			var worst time.Duration
			for range honestCalls {
				begun := time.Now()
				answer, err := api.post(t.Context(), strings.NewReader(honestReview))
				worst = max(worst, time.Since(begun))
				if want := "HTTP/2.0 200 "; err != nil || !strings.HasPrefix(answer, want) || !strings.Contains(answer, `"allowed":true`) {
					t.Errorf("honest review: %q (%v)", answer, err)
					break
				}
			}
			if n := <-failed; n > 0 {
				t.Errorf("%d of %d large reviews were not answered", n, floodClients)
			}
			t.Logf("%d honest reviews beside %d large ones, the slowest in %v", honestCalls, floodClients, worst)
			r.stop()
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
		})
	}
}
