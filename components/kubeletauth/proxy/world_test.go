// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// world is a proxy in front of a fake kubelet, with real TLS on both sides.
type world struct {
	t testing.TB
	// clients signs the certificates of clients. node signs the proxy's client certificate for the
	// kubelet. serving signs the serving certificate of the kubelet and of the proxy.
	clients, node, serving authority
	dir                    string
	kubelet                *httptest.Server
	handler                *Handler
	server                 *Server
	upstream               *Upstream
	registry               metrics.KubeRegistry
	lines                  *lines
	address                string
	stop                   context.CancelFunc
	ended                  chan error

	// allow is the authorizer. If it is nil, every request is allowed.
	allow atomic.Pointer[func(authorizer.Attributes) (Answer, error)]
	// revoked makes authentication fail for every client. renamed gives every client another user
	// name.
	revoked, renamed atomic.Bool
	// listed is the rule that denies every credential as revoked, or nil.
	listed atomic.Pointer[rules.ID]
	// tokens are the valid tokens, with their users.
	tokens sync.Map
	// seen are the requests that reached the kubelet.
	mu   sync.Mutex
	seen []*http.Request
}

// lines are the lines of the audit log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// await waits for n lines and returns them.
func (w *world) await(n int) []AuditEvent {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		w.lines.mu.Lock()
		text := w.lines.text.String()
		w.lines.mu.Unlock()
		if strings.Count(text, "\n") >= n {
			return decodeLines(w.t, text)
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d lines are wanted:\n%s", n, text)
		}
	}
}

func decodeLines(t testing.TB, text string) []AuditEvent {
	t.Helper()
	var all []AuditEvent
	for _, one := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var line AuditEvent
		if err := json.Unmarshal([]byte(one), &line); err != nil {
			t.Fatalf("%q: %v", one, err)
		}
		all = append(all, line)
	}
	return all
}

// settings are the settings that a test can change.
type settings struct {
	// components are the addresses of Bulkhead's components, by name.
	components                    map[string]string
	limits                        Limits
	headerTimeout, requestTimeout time.Duration
	connections                   ConnectionLimits
	drain                         time.Duration
	// waiting means that no line of the audit log is ever written.
	waiting bool
	mode    kubeletauth.Mode
	// auditOnly is Config.AuditOnly.
	auditOnly bool
	// audit are the rules in audit mode. enforce are the rules of this package that are enforced.
	audit, enforce []string
	// out replaces the test's audit log.
	out io.Writer
}

func (s *settings) modeOf(id rules.ID) rules.Mode {
	switch {
	case slices.Contains(s.enforce, string(id)):
		return rules.Enforce
	case slices.Contains(s.audit, string(id)):
		return rules.Audit
	}
	return rules.Off
}

// start runs the proxy in front of the kubelet. At the end of the test it stops everything and
// checks for leaked goroutines.
func start(t testing.TB, kubelet http.Handler, change func(*settings)) *world {
	t.Helper()
	s := settings{
		limits: DefaultLimits(), headerTimeout: 20 * time.Second, requestTimeout: time.Minute,
		connections: DefaultConnectionLimits(), drain: 50 * time.Millisecond, mode: kubeletauth.Strict,
	}
	if change != nil {
		change(&s)
	}
	// Registered first, so that it runs last, after everything has stopped.
	if t, ok := t.(*testing.T); ok {
		t.Cleanup(func() {
			if err := goleak.Find(ignored...); err != nil {
				t.Error(err)
			}
		})
	}
	w := &world{
		t: t, clients: newAuthority(t), node: newAuthority(t), serving: newAuthority(t), dir: t.TempDir(),
		registry: metrics.NewKubeRegistry(), lines: &lines{}, ended: make(chan error, 1),
	}
	w.startKubelet(kubelet)
	w.startProxy(s)
	return w
}

// ignored are goroutines that do not belong to this package. klog flushes forever. Files that a
// test does not reload keep their work queue. The fake kubelet waits for the other side to close a
// SPDY connection.
var ignored = []goleak.Option{
	goleak.IgnoreCurrent(),
	goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"),
	goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
	goleak.IgnoreTopFunction("k8s.io/client-go/util/workqueue.(*delayingType[...]).waitingLoop"),
	goleak.IgnoreTopFunction("k8s.io/client-go/util/workqueue.(*Typed[...]).updateUnfinishedWorkLoop"),
}

func (w *world) startKubelet(handler http.Handler) {
	serving := w.serving.issue(w.t, pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}},
		x509.ExtKeyUsageServerAuth)
	place(w.t, w.dir, "kubelet-server-current.pem", serving)
	pair, err := tls.X509KeyPair(serving, serving)
	if err != nil {
		w.t.Fatal(err)
	}
	w.kubelet = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.mu.Lock()
		if len(w.seen) < 1000 {
			w.seen = append(w.seen, req.Clone(context.Background()))
		}
		w.mu.Unlock()
		handler.ServeHTTP(rw, req)
	}))
	w.kubelet.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.kubelet.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: w.node.Pool(), MinVersion: tls.VersionTLS12}
	w.kubelet.EnableHTTP2 = true
	w.kubelet.StartTLS()
	w.t.Cleanup(func() {
		w.kubelet.CloseClientConnections()
		w.kubelet.Close()
	})
}

func (w *world) startProxy(s settings) {
	t := w.t
	caFile := place(t, w.dir, "client-ca.crt", w.clients.PEM())
	servingFile := w.dir + "/kubelet-server-current.pem"
	client := place(t, w.dir, "client.pem",
		w.node.issue(t, pkix.Name{CommonName: "bulkhead:kubelet-auth-proxy"}, x509.ExtKeyUsageClientAuth))
	serving, err := LoadPair("serving", servingFile, servingFile)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := LoadPair("kubelet client", client, client)
	if err != nil {
		t.Fatal(err)
	}
	w.upstream = NewUpstream(serving, proof, 10*time.Minute)
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", caFile)
	if err != nil {
		t.Fatal(err)
	}
	address, _ := url.Parse(w.kubelet.URL)
	var out io.Writer = w.lines
	if s.out != nil {
		out = s.out
	}
	audit := NewAudit(out, w.registry)
	modes := map[rules.ID]rules.Mode{}
	for _, id := range s.audit {
		modes[rules.ID(id)] = rules.Audit
	}
	config := Config{
		NodeName: "n", Map: kubeletauth.NewPolicy(s.mode, modes).Map, Authenticator: w.authenticator(caFile),
		Authorize: w.authorize,
		Kubelet:   address.Host, Transport: w.upstream, Components: s.components,
		Limits: s.limits, AuditOnly: s.auditOnly, ModeOf: s.modeOf, Audit: audit, Rules: kubeletauth.Rules,
		Registry: w.registry, Logger: klog.Background(),
	}
	if w.handler, err = New(config); err != nil {
		t.Fatal(err)
	}
	w.server, err = NewServer(ServerConfig{
		Addresses: []string{"127.0.0.1"}, HealthAddress: "127.0.0.1", Handler: w.handler, Serving: serving, ClientCA: ca,
		MinVersion: tls.VersionTLS12, MaxHeaderBytes: 32 << 10, HeaderTimeout: s.headerTimeout,
		RequestTimeout: s.requestTimeout, Connections: s.connections,
		Registry: w.registry, Gatherer: w.registry, DrainTimeout: s.drain, ShutdownTimeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := bind(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	w.address = listener.Addr().String()
	if s.waiting {
		audit = NewAudit(nil, metrics.NewKubeRegistry())
	}
	w.run(audit, listener)
}

func (w *world) run(audit *Audit, listener net.Listener) {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	background, end := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { audit.Run(background) })
	go func() { w.ended <- w.server.serveOn(ctx, listener) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-w.ended; err != nil {
			w.t.Error(err)
		}
		end()
		group.Wait()
		w.upstream.Close()
	})
}
