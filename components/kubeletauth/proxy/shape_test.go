// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// raw sends bytes over TLS. It returns the first line of the answer, and the whole answer.
func (w *world) raw(text string) (first, all string) {
	w.t.Helper()
	config := w.admin()
	config.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", w.address, config)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go func() { _, _ = io.WriteString(conn, text) }()
	reader := bufio.NewReader(conn)
	first, _ = reader.ReadString('\n')
	rest, _ := io.ReadAll(reader)
	return strings.TrimSpace(first), first + string(rest)
}

// Ambiguous requests: where one parser sees the end of a request, another sees the middle. The
// proxy closes the connection for all of them, and none reaches the kubelet.
func TestMalformedRequestsAreRejected(t *testing.T) {
	const hidden = "GET /pods HTTP/1.1\r\nHost: n\r\nX-Hidden: 1\r\n\r\n"
	body := "0\r\n\r\n" + hidden
	for _, tt := range []struct{ name, text, want string }{
		{"a length and chunks",
			"POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" + body, "411"},
		{"chunks and a length",
			"POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" + body, "411"},
		{"chunks alone", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n" + body, "411"},
		{"chunks on GET", "GET /pods HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n" + body, "411"},
		{"two lengths", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: 1\r\nContent-Length: %d\r\n\r\n" + body,
			"400"},
		{"two encodings", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: " +
			"identity\r\n\r\n" + body, "501"},
		{"an encoding in disguise",
			"POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: xchunked\r\nContent-Length: %d\r\n\r\n" + body, "501"},
		{"a space before the colon",
			"POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nTransfer-Encoding : chunked\r\nContent-Length: %d\r\n\r\n" + body, "400"},
		{"a signed length", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: +5\r\n\r\n12345" + hidden, "400"},
		{"an upgrade to HTTP/2",
			"GET /pods HTTP/1.1\r\nHost: n\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: " +
				"AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n" + hidden, "400"},
		{"an upgrade to two protocols",
			"GET /exec/a/b/c HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: websocket, SPDY/3.1\r\n\r\n" + hidden,
			"400"},
		{"an upgrade that Connection does not name",
			"GET /exec/a/b/c HTTP/1.1\r\nHost: n\r\nUpgrade: websocket\r\n\r\n" + hidden, "400"},
		{"an upgrade that only Connection names",
			"GET /exec/a/b/c HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\n\r\n" + hidden, "400"},
		{"an upgrade that is almost named",
			"GET /exec/a/b/c HTTP/1.1\r\nHost: n\r\nConnection: keep-upgraded\r\n\r\n" + hidden, "400"},
		{"HTTP/2 from the start", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden, "411"},
		{"a body that is too large, on GET", "GET /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 1000000\r\n\r\n" + hidden,
			"413"},
		{"a body on GET", "GET /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\n12345" + hidden, "400"},
		{"a body on HEAD", "HEAD /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\n12345" + hidden, "400"},
		{"a body that is too large", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: 1000000\r\n\r\n" + hidden,
			"413"},
		{"headers of 64 KB", "GET /pods HTTP/1.1\r\nHost: n\r\nX-Long: " + strings.Repeat("a", 64<<10) + "\r\n\r\n" + hidden,
			"431"},
		{"a token of 100 KB", "GET /pods HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer " + strings.Repeat("a", 100<<10) +
			"\r\n\r\n" + hidden, "431"},
		{"a token of 100 KB as sub-protocol",
			"GET /exec/a/b/c HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: " +
				"base64url.bearer.authorization.k8s.io." +
				strings.Repeat("a", 100<<10) + ", v4.channel.k8s.io\r\n\r\n" + hidden, "431"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, answering("answer"), nil)
			text := tt.text
			if strings.Contains(text, "%d") {
				text = fmt.Sprintf(text, len(body))
			}
			first, all := w.raw(text)
			if !strings.HasPrefix(first, "HTTP/1.1 "+tt.want+" ") {
				t.Errorf("answered %q, want %s", first, tt.want)
			}
			if n := strings.Count(all, "HTTP/1.1 "); n != 1 {
				t.Errorf("answered %d times:\n%s", n, all)
			}
			if len(w.reached()) > 0 {
				t.Errorf("the kubelet saw %s %s", w.reached()[0].Method, w.reached()[0].URL)
			}
		})
	}
}

// The valid counterparts of the requests above.
func TestWellFormedRequestsPass(t *testing.T) {
	const end = "Connection: close\r\n\r\n"
	for _, tt := range []struct{ name, text, body string }{
		{"a body with its length", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n" + end + "12345", "12345"},
		{"no body", "POST /run/a/b/c HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n" + end, ""},
		{"headers of 30 KB", "GET /pods HTTP/1.1\r\nHost: n\r\nX-Long: " + strings.Repeat("a", 30<<10) + "\r\n" + end, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				fmt.Fprintf(rw, "body %q of %d", body, req.ContentLength)
			}), nil)
			first, all := w.raw(tt.text)
			if want := fmt.Sprintf("body %q of %d", tt.body, len(tt.body)); first != "HTTP/1.1 200 OK" ||
				!strings.HasSuffix(all, want) {
				t.Errorf("answered %q, want %q", all, want)
			}
		})
	}
}

func TestSlowHeadersEnd(t *testing.T) {
	w := start(t, answering(""), func(s *settings) { s.headerTimeout = 5 * time.Second })
	conn, err := tls.Dial("tcp", w.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begun := time.Now()
	fmt.Fprint(conn, "GET /pods HTTP/1.1\r\nHost: n\r\n")
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(conn)
		ended <- err
	}()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			_, _ = fmt.Fprint(conn, "X: y\r\n")
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("a client that never ends its headers is still heard")
		}
	}
}

func TestAHandshakeThatNeverComesEnds(t *testing.T) {
	w := start(t, answering(""), func(s *settings) { s.headerTimeout = 200 * time.Millisecond })
	plain, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_ = plain.SetDeadline(time.Now().Add(20 * time.Second))
	if n, err := io.Copy(io.Discard, plain); err != nil {
		t.Errorf("%d bytes, and then %v", n, err)
	}
}

// The kubelet's own clients have a few groups. Every access review contains all groups.
// Certificates that are too large together are rejected in the handshake, because a connection
// keeps them in memory. If they are still larger, they are not even read to the end.
func TestCertificatesThatAreTooLarge(t *testing.T) {
	w := start(t, answering("answer"), nil)
	for _, tt := range []struct {
		organisations  int
		answered, want string
	}{{20, "200 OK", ""}, {1000, "200 OK", ""}, {1001, "401 Unauthorized", ""}, {4000, "", "bad certificate"},
		{10_000, "", ""}} {
		subject := pkix.Name{CommonName: "admin"}
		for i := range tt.organisations {
			subject.Organization = append(subject.Organization, fmt.Sprintf("g%04d", i))
		}
		config := w.clients.client(t, subject)
		config.RootCAs = w.serving.Pool()
		text, err := w.asks(config)
		status, _, _ := strings.Cut(strings.TrimPrefix(text, "HTTP/1.1 "), "\r\n")
		if status != tt.answered || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%d organisations: %q, %v", tt.organisations, text, err)
		}
	}
	if n := len(w.reached()); n != 2 {
		t.Errorf("the kubelet was asked %d times", n)
	}
}

// asks sends a request over a new connection. With TLS 1.3, a client learns that its certificate
// was rejected only after its side of the handshake.
func (w *world) asks(config *tls.Config) (string, error) {
	w.t.Helper()
	config.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", w.address, config)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = io.WriteString(conn, "GET /pods HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
	text, err := io.ReadAll(conn)
	return string(text), err
}

// HTTP/2 reads ahead of the handler for every client, so its window is small.
func TestHTTP2ReadsLittleAhead(t *testing.T) {
	w := start(t, answering("answer"), nil)
	config := w.admin()
	config.NextProtos = []string{"h2"}
	conn := w.dialFrom("127.0.0.1", config)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	settings, ok := frame.(*http2.SettingsFrame)
	if err != nil || !ok {
		t.Fatalf("%v, %v", frame, err)
	}
	for _, tt := range []struct {
		id   http2.SettingID
		most uint32
	}{
		{http2.SettingMaxConcurrentStreams, maxStreams}, {http2.SettingInitialWindowSize, maxBody},
		{http2.SettingMaxFrameSize, 16 << 10}, {http2.SettingMaxHeaderListSize, 40 << 10},
	} {
		if got, ok := settings.Value(tt.id); !ok || got > tt.most {
			t.Errorf("%v is %d, want at most %d", tt.id, got, tt.most)
		}
	}
}
