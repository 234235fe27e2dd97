// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// onlyAudits is the configuration of an installation in mode audit.
func onlyAudits(s *settings) { s.mode, s.auditOnly = kubeletauth.Compat, true }

// With AuditOnly, the kubelet gets what it would get without the proxy. It reads no long body.
func TestAuditOnlyForwardsWhatNoClientSends(t *testing.T) {
	const end = "Connection: close\r\n\r\n"
	large := strings.Repeat("a", maxBody+1)
	for _, tc := range []struct{ name, text, want, finding string }{
		{"dot segment", "GET /pods/%2e%2e/exec HTTP/1.1\r\nHost: n\r\n" + end, `GET /pods/%2e%2e/exec ""`, "KA-PATH-2"},
		{"encoded slash", "GET /logs/a%2Fb HTTP/1.1\r\nHost: n\r\n" + end, `GET /logs/a%2Fb ""`, "KA-PATH-3"},
		{"wrong case", "POST /Exec/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n" + end, `POST /Exec/a/b/c ""`,
			"KA-PATH-4"},
		{"chunks", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n" + end + "2\r\nab\r\n0\r\n\r\n",
			`POST /run/a/b/c "ab"`, "KA-LIMIT-1"},
		{"body on GET", "GET /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 2\r\n" + end + "ab", `GET /pods "ab"`,
			"KA-LIMIT-1"},
		{"large body", fmt.Sprintf("POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: %d\r\n", len(large)) + end +
			large, `POST /run/a/b/c "` + large[:maxBody] + `"`, "KA-LIMIT-1"},
		{"other upgrade", "GET /pods HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", `GET /pods ""`,
			"KA-LIMIT-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := start(t, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				rw.Header().Set("Connection", "close")
				fmt.Fprintf(rw, "%s %s %q", req.Method, req.URL.EscapedPath(), body)
			}), onlyAudits)
			first, all := w.raw(tc.text)
			if first != "HTTP/1.1 200 OK" || !strings.Contains(all, tc.want) {
				t.Errorf("answered %.300q, want %.100q", all, tc.want)
			}
			events := w.await(1)
			if got := events[len(events)-1]; got.Decision != allowed || !slices.Equal(got.Findings, []string{tc.finding}) {
				t.Errorf("the event has decision %s and findings %v, want %s", got.Decision, got.Findings, tc.finding)
			}
		})
	}
}

// A path that a rule denies still needs the right that the kubelet asks for.
func TestAuditOnlyStillNeedsTheRight(t *testing.T) {
	w := start(t, answering("answer"), onlyAudits)
	w.decides(only("get", "pods"))
	for target, want := range map[string]int{"/pods/%2e%2e/exec/a/b/c": http.StatusOK, "/logs%2Fa": http.StatusForbidden} {
		first, _ := w.raw("GET " + target + " HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(first, fmt.Sprintf("HTTP/1.1 %d ", want)) {
			t.Errorf("%s is answered %q, want %d", target, first, want)
		}
	}
	for _, event := range w.await(2) {
		if event.Decision == denied && len(event.Findings) > 0 {
			t.Errorf("a denied request has findings %v", event.Findings)
		}
	}
}

// The kubelet redirects a request with an unclean path, whatever its user may do. It does not see the
// request.
func TestAuditOnlyRedirectsUncleanPaths(t *testing.T) {
	w := start(t, answering("answer"), onlyAudits)
	w.decides(only("get", "stats"))
	for target, want := range map[string]string{
		"//pods": "/pods", "//pods/?a=b": "/pods/?a=b", "/pods/../exec/a": "/exec/a", "/pods/.": "/pods", "//": "/",
		"//h/pods": "/h/pods",
	} {
		first, all := w.raw("GET " + target + " HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
		if first != "HTTP/1.1 307 Temporary Redirect" || !strings.Contains(all, "\r\nLocation: "+want+"\r\n") {
			t.Errorf("%s is answered %q, want a redirect to %s", target, all, want)
		}
	}
	for _, event := range w.await(6) {
		if event.Decision != allowed || len(event.Findings) != 1 || event.User == "" || event.Status != 307 {
			t.Errorf("event %+v", event)
		}
	}
	config := w.admin()
	config.Certificates = nil
	if got := w.do(w.client(config, false), http.MethodGet, "//pods", nil); got.code != http.StatusUnauthorized {
		t.Errorf("without a credential, the answer is %d", got.code)
	}
	if len(w.reached()) > 0 {
		t.Errorf("the kubelet saw %s", w.reached()[0].URL)
	}
}

// A target without a path stays denied: the kubelet would serve http://h/logs/, which no right was asked
// for.
func TestAuditOnlyDeniesATargetWithoutAPath(t *testing.T) {
	for _, target := range []string{"x:http://h/logs/", "http://h", "x:logs"} {
		t.Run(target, func(t *testing.T) {
			w := start(t, answering("answer"), onlyAudits)
			first, _ := w.raw("GET " + target + " HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
			if first != "HTTP/1.1 400 Bad Request" || len(w.reached()) > 0 {
				t.Errorf("answered %q, and %d requests reached the kubelet", first, len(w.reached()))
			}
		})
	}
}

// A method without a path in the kubelet's API stays denied.
func TestAuditOnlyDeniesTrace(t *testing.T) {
	w := start(t, answering("answer"), onlyAudits)
	if first, _ := w.raw("TRACE /pods HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n"); first !=
		"HTTP/1.1 405 Method Not Allowed" {
		t.Errorf("answered %q", first)
	}
}

func TestAuditOnlyHasNoLimits(t *testing.T) {
	w := start(t, newStreaming(t), func(s *settings) {
		onlyAudits(s)
		s.limits.Streams = 1
	})
	for range 3 {
		if _, _, err := w.websocket("/exec/ns/pod/c"); err != nil {
			t.Fatal(err)
		}
	}
	events := w.await(3)
	if len(events[0].Findings) > 0 {
		t.Errorf("the first stream has findings %v", events[0].Findings)
	}
	for _, event := range events[1:] {
		if !slices.Contains(event.Findings, "KA-LIMIT-1") {
			t.Errorf("a further stream has findings %v", event.Findings)
		}
	}
}

// A kubelet asks once about a stream, so a stream continues after its right is revoked.
func TestAuditOnlyKeepsStreams(t *testing.T) {
	for _, tc := range []struct {
		name     string
		decides  func(authorizer.Attributes) (Answer, error)
		findings []string
	}{
		{"the right is revoked", only("get", "stats"), []string{"KA-STREAM-1"}},
		{"the API server does not answer", failing, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := start(t, newStreaming(t), func(s *settings) {
				onlyAudits(s)
				s.limits.StreamRecheck = 50 * time.Millisecond
			})
			conn, _, _ := w.upgrade("/exec/ns/pod/c", "")
			asked := make(chan struct{}, 100)
			w.decides(func(a authorizer.Attributes) (Answer, error) {
				asked <- struct{}{}
				return tc.decides(a)
			})
			for range 4 {
				<-asked
			}
			_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the stream ended: %v", err)
			}
			_ = conn.Close()
			if got := w.await(2)[1].Findings; !slices.Equal(got, tc.findings) {
				t.Errorf("the last event has findings %v, want %v", got, tc.findings)
			}
		})
	}
}

// A credential that was revoked ends a stream in every mode.
func TestAuditOnlyEndsStreamsOfRevokedCredentials(t *testing.T) {
	for _, rule := range []rules.ID{kubeletauth.RuleCredential, kubeletauth.RuleRevoked} {
		t.Run(string(rule), func(t *testing.T) {
			w := start(t, newStreaming(t), func(s *settings) {
				onlyAudits(s)
				s.limits.StreamRecheck = 50 * time.Millisecond
			})
			conn, reader, _ := w.upgrade("/exec/ns/pod/c", "")
			w.listed.Store(&rule)
			if err := ends(t, conn, reader); err != nil {
				t.Errorf("not a clean end: %v", err)
			}
			if end := w.await(2)[1]; end.Cause != errListed.Error() || len(end.Findings) > 0 {
				t.Errorf("ended because %q, with findings %v", end.Cause, end.Findings)
			}
		})
	}
}
