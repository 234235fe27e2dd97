// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// api is an API server that records the requests.
type api struct {
	// answer returns JSON, or a status code as text. asked has the form "GET /api/v1/nodes/a?x=y
	// body".
	answer func(asked string) string

	mu    sync.Mutex
	asked []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	asked := strings.TrimSpace(fmt.Sprintf("%s %s %s", req.Method, req.URL.RequestURI(), body))
	a.mu.Lock()
	a.asked = append(a.asked, asked)
	a.mu.Unlock()
	answer := a.answer(asked)
	w.Header().Set("Content-Type", "application/json")
	var code int
	if n, _ := fmt.Sscan(answer, &code); n == 1 {
		w.WriteHeader(code)
		message := fmt.Sprint("the server says ", code)
		if code == http.StatusServiceUnavailable {
			message = "Internal error occurred: etcd is away"
		}
		answer = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`,
			code, map[int]string{403: "Forbidden", 404: "NotFound", 429: "TooManyRequests", 500: "InternalError"}[code], message)
	}
	fmt.Fprint(w, answer)
}

// requests returns the requests since the last call.
func (a *api) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// answers returns an api that gives the same answer to every request.
func answers(answer string) *api { return &api{answer: func(string) string { return answer }} }

type noHistory struct{}

func (noHistory) AddressOwner(_ context.Context, address, but string) (string, error) {
	return address + " but " + but, nil
}

func (noHistory) ProviderIDOwner(_ context.Context, id, but string) (string, error) {
	return id + " but " + but, nil
}

func (noHistory) History(context.Context, string) (noderestriction.NodeHistory, error) {
	return noderestriction.NodeHistory{UID: "1"}, nil
}

func (noHistory) LastReported(context.Context, string) (noderestriction.Reported, error) {
	return noderestriction.Reported{KubeletPort: 1}, nil
}

// world is a Cluster with its api.
type world struct {
	*Cluster
	api      *api
	clock    *testingclock.FakePassiveClock
	registry metrics.KubeRegistry
}

func newWorld(t *testing.T, a *api) *world {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{api: a, clock: testingclock.NewFakePassiveClock(start), registry: metrics.NewKubeRegistry()}
	w.Cluster = New(Config{Client: client, Metadata: objects, NodeHistory: noHistory{}, Registry: w.registry,
		Clock:                 w.clock,
		CountsSigningRequests: func() bool { return false }})
	// Long timeouts: on a busy machine the answers may be slow.
	w.lookupTimeout, w.callTimeout = time.Minute, time.Minute
	return w
}

// wantLookups compares bulkhead_lookups_total.
func (w *world) wantLookups(t *testing.T, want string) {
	t.Helper()
	text := "# HELP bulkhead_lookups_total [ALPHA] Calls of the API server to decide on a write, by kind and outcome " +
		"(ok, not-found, no-answer, withdrawn, failed), and answers without a call (remembered).\n" +
		"# TYPE bulkhead_lookups_total counter\n" + want
	compare := func() error {
		return testutil.GatherAndCompare(w.registry, strings.NewReader(text), "bulkhead_lookups_total")
	}
	// A call may end, and be counted, shortly after its last caller has left.
	err := compare()
	for begun := time.Now(); err != nil && time.Since(begun) < 5*time.Second; err = compare() {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Error(err)
	}
}

func object(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
