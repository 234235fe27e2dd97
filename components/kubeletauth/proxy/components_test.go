// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const (
	pagePath = "/metrics/bulkhead/node-authorizer"
	page     = "bulkhead_graph_edges 7\n"
)

// servePage is a component that answers with its metrics.
func servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=values")
	w.Header().Set("Set-Cookie", "a=b")
	fmt.Fprint(w, page)
}

// startWithComponent runs the proxy beside a component. Its kubelet answers "kubelet".
func startWithComponent(t *testing.T, component http.HandlerFunc) *world {
	t.Helper()
	w, _ := startWithServer(t, component)
	return w
}

// startWithServer also returns the server of the component. The server starts after the proxy, and
// ends before it.
func startWithServer(t *testing.T, component http.HandlerFunc) (*world, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(component)
	w := startWithAddress(t, server.Listener.Addr().String())
	server.Start()
	t.Cleanup(server.Close)
	return w, server
}

func startWithAddress(t *testing.T, address string) *world {
	t.Helper()
	return start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "kubelet") }),
		func(s *settings) {
			s.components = map[string]string{"node-authorizer": address, "node-restriction": address}
		})
}

// The proxy serves the metrics of a component. The component receives a request of the proxy, not
// the client's.
func TestMetricsOfAComponent(t *testing.T) {
	var mu sync.Mutex
	var seen []*http.Request
	w := startWithComponent(t, func(rw http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, req)
		servePage(rw, req)
	})
	for _, http2 := range []bool{false, true} {
		got := w.do(w.client(w.admin(), http2), http.MethodGet, pagePath+"?a=b", func(req *http.Request) {
			for _, name := range []string{"Authorization", "Accept-Encoding", "Cookie", "X-Client", "Impersonate-User"} {
				req.Header.Set(name, "of-the-client")
			}
			req.Host = "of-the-client"
		})
		if got.code != http.StatusOK || got.body != page || got.header.Get("Content-Type") != pageType ||
			got.header.Get("Set-Cookie") != "" || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("HTTP/2 %v: answered %d %q %v", http2, got.code, got.body, got.header)
		}
	}
	if got := w.do(w.client(w.admin(), false), http.MethodHead, pagePath, nil); got.code != http.StatusOK ||
		got.body != "" || got.header.Get("Content-Length") != fmt.Sprint(len(page)) {
		t.Errorf("HEAD: answered %d %q %v", got.code, got.body, got.header)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 3 || len(w.reached()) != 0 {
		t.Fatalf("%d requests reached the component, %d the kubelet", len(seen), len(w.reached()))
	}
	for _, req := range seen {
		if text := fmt.Sprint(req.Header, req.Host, req.RequestURI); req.Method != http.MethodGet ||
			req.RequestURI != "/metrics" || strings.Contains(text, "of-the-client") {
			t.Errorf("the component received %s %s", req.Method, text)
		}
	}
	line := w.await(1)[0]
	if line.Rule != "KA-METRICS-1" || line.Subresource != "metrics" || line.Status != http.StatusOK ||
		line.User != "admin" {
		t.Errorf("audit line %+v", line)
	}
}

// Requests that differ in one part from one that is allowed.
func TestMetricsOfComponentsAreDenied(t *testing.T) {
	w := startWithComponent(t, servePage)
	w.decides(func(a authorizer.Attributes) (Answer, error) {
		return Answer{Allowed: a.GetSubresource() == "metrics" && a.GetUser().GetName() == "admin"}, nil
	})
	w.tokens.Store("other", "other")
	for _, tt := range []struct {
		name, method, path, token string
		code                      int
		body                      string
	}{
		{"a user with the right", http.MethodGet, pagePath, "", 200, page},
		{"a user without", http.MethodGet, pagePath, "other", 403, "[KA-METRICS-1]\n"},
		{"an invalid token", http.MethodGet, pagePath, "unknown", 401, "[KA-AUTH-1]\n"},
		{"POST", http.MethodPost, pagePath, "", 405, "[KA-METRICS-2]\n"},
		{"DELETE", http.MethodDelete, pagePath, "", 405, "[KA-METRICS-2]\n"},
		{"an unknown component", http.MethodGet, "/metrics/bulkhead/scope-sync", "", 404,
			"Not found: no such component: use one of node-authorizer, node-restriction\n"},
		{"a path below", http.MethodGet, pagePath + "/x", "", 404, "no such component"},
		{"a slash at the end", http.MethodGet, pagePath + "/", "", 404, "no such component"},
		{"another case", http.MethodGet, "/metrics/bulkhead/Node-Authorizer", "", 404, "no such component"},
		{"an unclean path", http.MethodGet, "/metrics/bulkhead/../bulkhead/node-authorizer", "", 400, "[KA-PATH-2]\n"},
		{"no component", http.MethodGet, "/metrics/bulkhead", "", 200, "kubelet"},
		{"another path of metrics", http.MethodGet, "/metrics/resource", "", 200, "kubelet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := w.admin()
			if tt.token != "" {
				config.Certificates = nil
			}
			got := w.do(w.client(config, false), tt.method, tt.path, func(req *http.Request) {
				if tt.token != "" {
					req.Header.Set("Authorization", "Bearer "+tt.token)
				}
			})
			if got.code != tt.code || !strings.Contains(got.body, tt.body) {
				t.Errorf("answered %d %q, want %d %q", got.code, got.body, tt.code, tt.body)
			}
		})
	}
}

// An answer that is not a page of metrics is not forwarded, and none of its text is.
func TestComponentsThatFail(t *testing.T) {
	const bad = "Bad gateway: cannot read metrics of node-authorizer on this node: "
	for _, tt := range []struct {
		name      string
		component http.HandlerFunc
		want      string
	}{
		{"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", http.StatusInternalServerError) },
			"it answered with status 500"},
		{"a redirect", func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/livez", http.StatusFound)
		}, "it answered with status 302"},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>secret") }, "is not plain text"},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.CopyN(w, endless{}, maxPage+1)
		}, "its answer has more than 4194304 bytes"},
		{"huge headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("A", strings.Repeat("a", 2*maxAnswer))
		}, "the connection failed"},
		{"ends early", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, page)
			panic(http.ErrAbortHandler)
		}, "the connection failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := startWithComponent(t, tt.component)
			got := w.do(w.client(w.admin(), false), http.MethodGet, pagePath, nil)
			if got.code != http.StatusBadGateway || !strings.HasPrefix(got.body, bad) ||
				!strings.Contains(got.body, tt.want) || strings.Contains(got.body, "secret") {
				t.Errorf("answered %d %.200q, want %q", got.code, got.body, tt.want)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A component that never answered is not on this node. One that answered before is dead.
func TestComponentThatIsAbsentOrDead(t *testing.T) {
	w, server := startWithServer(t, servePage)
	client := w.client(w.admin(), false)
	for _, tt := range []struct {
		component string
		stop      bool
		code      int
		want      string
	}{
		{"node-authorizer", false, 200, page},
		{"node-authorizer", true, 502, "node-authorizer on this node: it ran before, and now nothing listens"},
		{"node-restriction", true, 404, "Not found: node-restriction does not run on this node: nothing listens"},
	} {
		if tt.stop {
			server.Close()
		}
		got := w.do(client, http.MethodGet, "/metrics/bulkhead/"+tt.component, nil)
		if got.code != tt.code || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s is answered %d %q, want %d %q", tt.component, got.code, got.body, tt.code, tt.want)
		}
	}
}

// A component that accepts connections and does not answer costs a limited time, and a user only
// the places of that user.
func TestComponentThatHangs(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	w := startWithAddress(t, listener.Addr().String())
	w.handler.components.timeout = 2 * time.Second
	// The first request opens the connection that all share.
	client := w.client(w.admin(), true)
	w.do(client, http.MethodGet, "/pods", nil)
	var group sync.WaitGroup
	codes := make(chan int, 20)
	for range cap(codes) {
		group.Go(func() { codes <- w.do(client, http.MethodGet, pagePath, nil).code })
	}
	began := time.Now()
	group.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	// On a busy machine, some requests come when the first have timed out.
	if count[502]+count[429] != cap(codes) || count[502] < pagesPerUser || count[502] > 2*pagesPerUser ||
		time.Since(began) > 20*time.Second {
		t.Errorf("answers by status: %v, after %v", count, time.Since(began))
	}
	if taken, users := w.handler.components.limiter.Held(); taken != 0 || users != 0 {
		t.Errorf("%d places of %d users are still taken", taken, users)
	}
}
