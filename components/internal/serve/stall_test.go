// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// stalledFor is how long there may be no progress before the test reports a stall. A stall
	// would last forever, because this server has no timeouts. A busy machine is slow, but makes
	// progress.
	stalledFor = 30 * time.Second
	// floodClients is more than the number of reviews that could be read at one time when such a
	// flood stalled the connection. floodClients times floodBody is more than a connection may send
	// unread by default.
	floodClients = 390
	floodBody    = 300 << 10
	honestCalls  = 40
	reviewHead   = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"`
	honestReview = reviewHead +
		`system:node:b","groups":["system:nodes"],"resourceAttributes":{"verb":"get","resource":"pods"}}}`
)

var errStalled = errors.New("nothing moves any more")

func allowAll(context.Context, authorizer.Attributes) rules.Decision {
	return rules.Decision{Effect: rules.Allow, Rule: "NA-TEST-1"}
}

// caller is a fake API server. All its calls share one connection.
type caller struct {
	client *http.Client
	url    string
	// moved counts the parts of reviews that were sent, and the answers.
	moved atomic.Int64
}

func (c *caller) post(ctx context.Context, review string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, &sent{strings.NewReader(review), &c.moved})
	if err != nil {
		return "", err
	}
	req.ContentLength = int64(len(review))
	req.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(req)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	defer c.moved.Add(1)
	answer, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.Proto, " ", response.StatusCode, " ", string(answer)), err
}

// sent counts the reads of a body while it is sent.
type sent struct {
	io.Reader
	moved *atomic.Int64
}

func (s *sent) Read(into []byte) (int, error) {
	s.moved.Add(1)
	return s.Reader.Read(into)
}

// untilStalled returns a context that ends when there is no progress for stalledFor.
func (c *caller) untilStalled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for before := int64(-1); before != c.moved.Load(); {
			before = c.moved.Load()
			select {
			case <-ctx.Done():
			case <-time.After(stalledFor):
			}
		}
		cancel(errStalled)
	}()
	return ctx, func() { cancel(nil) }
}

// flood sends reviews that are too large, all at once. It returns how many were not answered.
func (c *caller) flood(ctx context.Context) int {
	var failures atomic.Int64
	var clients sync.WaitGroup
	large := reviewHead + strings.Repeat("a", floodBody)
	for range floodClients {
		clients.Go(func() {
			answer, err := c.post(ctx, large)
			if err != nil || !strings.Contains(answer, `"denied":true`) {
				failures.Add(1)
			}
		})
	}
	clients.Wait()
	return int(failures.Load())
}

// The test sends as many too large reviews at once as an API server can send, and normal reviews of
// a node on the same connection. If a call is not answered, another authorizer decides.
func TestLargeReviewsDoNotStallTheOthers(t *testing.T) {
	api, connections := startPatient(t)
	ctx, stop := api.untilStalled(t.Context())
	defer stop()
	// The first call opens the connection that all others share.
	api.postHonest(ctx, t)
	failed := make(chan int, 1)
	go func() { failed <- api.flood(ctx) }()
	for range honestCalls {
		api.postHonest(ctx, t)
	}
	if n := <-failed; n > 0 {
		t.Errorf("%d of %d large reviews were not answered (%v)", n, floodClients, context.Cause(ctx))
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func (c *caller) postHonest(ctx context.Context, t *testing.T) {
	t.Helper()
	answer, err := c.post(ctx, honestReview)
	if want := "HTTP/2.0 200 "; err != nil || !strings.HasPrefix(answer, want) ||
		!strings.Contains(answer, `"allowed":true`) {
		t.Fatalf("honest review: %q (%v, %v)", answer, err, context.Cause(ctx))
	}
}

// startPatient starts a server as Server does for kube-apiserver, but without timeouts.
func startPatient(t *testing.T) (api *caller, connections *atomic.Int64) {
	t.Helper()
	ca := newTestCA(t)
	config := configFor(t, ca, nil)
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	served := newHTTPServer(t.Context(), sarwebhook.New(sarwebhook.Config{
		Authorizer: sarwebhook.AuthorizerFunc(allowAll),
		Config: webhook.Config{
			NodeName: nodeidentity.NodeName, Limits: webhook.Limits{InFlight: 2000, InFlightPerNode: 200},
			LimitRule: rules.Rule{ID: "NA-LIMIT"}, Registry: config.Registry, Logger: klog.Background(),
			Clock: clock.RealClock{},
		},
	}))
	served.TLSConfig = server.certificates.tlsConfig()
	served.ReadHeaderTimeout, served.ReadTimeout, served.WriteTimeout = 0, 0, 0
	connections = new(atomic.Int64)
	served.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	listener := listenAnywhere(t)
	ended := make(chan error, 1)
	go func() { ended <- serving("webhook", served.ServeTLS(listener, "", "")) }()
	t.Cleanup(func() {
		if err := errors.Join(served.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: ca.goodClient(t), ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	return &caller{client: client, url: "https://" + listener.Addr().String()}, connections
}
