// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The proxy reads a body only for an allowed request, because a body needs memory and time. For a
// denied request it closes the connection, because the next bytes would be the body.
func TestNoBodyIsReadForOthers(t *testing.T) {
	w := start(t, answering("answer"), func(s *settings) { s.connections.NewTimeout = time.Hour })
	w.decides(only("get", "pods"))
	stranger := w.admin()
	stranger.Certificates = nil
	const ask = "POST /run/ns/pod/c HTTP/1.1\r\nHost: n\r\nContent-Length: %d\r\n%s\r\n%s"
	for _, tt := range []struct {
		name, text, want string
		config           *tls.Config
	}{
		{"no credential", fmt.Sprintf(ask, 5, "", ""), "401", stranger},
		{"no credential, partial body", fmt.Sprintf(ask, 5, "", "123"), "401", stranger},
		{"no credential, Expect: 100-continue", fmt.Sprintf(ask, 5, "Expect: 100-continue\r\n", ""), "401", stranger},
		{"user without the right", fmt.Sprintf(ask, 5, "", ""), "403", w.admin()},
		{"user without the right, Expect: 100-continue", fmt.Sprintf(ask, 5, "Expect: 100-continue\r\n", ""),
			"403", w.admin()},
		{"a body that is too large", fmt.Sprintf(ask, 100_000, "", ""), "413", w.admin()},
		{"body on a request without one", "GET /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\n", "400", w.admin()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := w.dialFrom("127.0.0.1", tt.config)
			if _, err := io.WriteString(conn, tt.text); err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 "+tt.want+" ") || strings.Contains(string(all), " 100 ") {
				t.Errorf("answered %q (%v), want %s and the end", all, err, tt.want)
			}
		})
	}
	if len(w.reached()) > 0 {
		t.Errorf("the kubelet saw %s %s", w.reached()[0].Method, w.reached()[0].URL)
	}
}

// An allowed client is asked for its body, and has a limited time to send it.
func TestABodyThatIsWaitedFor(t *testing.T) {
	w := start(t, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		fmt.Fprintf(rw, "body %q of %d", body, req.ContentLength)
	}), nil)
	conn := w.dial()
	fmt.Fprint(conn, "POST /run/ns/pod/c HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\nConnection: close\r\nExpect: "+
		"100-continue\r\n\r\n")
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("answered %q (%v)", line, err)
	}
	fmt.Fprint(conn, "12345")
	rest, err := io.ReadAll(reader)
	if want := `body "12345" of 5`; err != nil || !strings.HasSuffix(string(rest), want) {
		t.Errorf("answered %q (%v), want %q", rest, err, want)
	}
}
