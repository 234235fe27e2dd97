// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	// idleTimeout is above the 30 s after which kube-apiserver's client sends a ping.
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
)

// MaxStreams bounds the requests of one connection at one time. It is above the number of requests
// that a kube-apiserver has in flight by default (600), so that kube-apiserver needs only one
// connection.
const MaxStreams = 1000

// All requests of a kube-apiserver share one connection, and its flow-control window. If some
// requests could use up the window, all others would wait for them. After 3 s the API server would
// go on without Bulkhead. So the window has room for all unread bytes of all requests together.
const (
	receivePerStream     = 64 << 10
	receivePerConnection = 64 << 20
	// This constant does not compile if the difference is negative.
	_ uint = receivePerConnection - MaxStreams*receivePerStream
)

// Config is the configuration of a server.
type Config struct {
	// BindAddress must be a loopback address.
	BindAddress            string
	SecurePort, HealthPort int
	// CertFile, KeyFile and ClientCAFile are reloaded when they change.
	CertFile, KeyFile, ClientCAFile string
	// AllowedClientNames are the common names of the clients that may connect.
	AllowedClientNames []string
	// Handler serves these clients.
	Handler http.Handler
	// Checks all pass once the server is ready.
	Checks []Check
	// Registry is where the server registers its metrics.
	Registry metrics.KubeRegistry
	// Gatherer collects the metrics for /metrics.
	Gatherer metrics.Gatherer
	// Status are additional handlers on the health port, by path. Every user on the host can GET
	// them.
	Status map[string]http.Handler
	// Expiries are the expiry times of certificates that other components use, by name.
	Expiries map[string]Expiry
	// ShutdownTimeout bounds the wait for requests in flight.
	ShutdownTimeout time.Duration
}

// Server is a webhook on loopback with health endpoints.
type Server struct {
	config       Config
	certificates *certificates
	stopping     atomic.Bool
}

// New reads the certificates and registers their expiry metrics. It does not listen yet.
func New(config Config) (*Server, error) {
	if ip := net.ParseIP(config.BindAddress); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("bind address %q is not on loopback", config.BindAddress)
	}
	if len(config.AllowedClientNames) == 0 {
		return nil, errors.New("no client is allowed")
	}
	loaded, err := loadCertificates(config)
	if err != nil {
		return nil, err
	}
	expiries := loaded.expiries()
	maps.Copy(expiries, config.Expiries)
	if err := RegisterExpiries(config.Registry, expiries); err != nil {
		return nil, err
	}
	return &Server{config: config, certificates: loaded}, nil
}

// Run serves until ctx is done. Then it answers the requests in flight and returns.
func (s *Server) Run(ctx context.Context) error {
	secure, err := listen(ctx, s.config.BindAddress, s.config.SecurePort)
	if err != nil {
		return err
	}
	health, err := listen(ctx, s.config.BindAddress, s.config.HealthPort)
	if err != nil {
		return errors.Join(err, secure.Close())
	}
	return s.serve(ctx, secure, health)
}

func listen(ctx context.Context, host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	return listener, nil
}

// serve owns the listeners and every goroutine that it starts.
func (s *Server) serve(ctx context.Context, secure, health net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	webhook := newHTTPServer(ctx, s.config.Handler)
	webhook.TLSConfig = s.certificates.tlsConfig()
	probes := newHTTPServer(ctx, s.health())

	failures := make(chan error, 2)
	var group sync.WaitGroup
	group.Go(func() { s.certificates.run(ctx) })
	group.Go(func() { failures <- serving("webhook", webhook.ServeTLS(secure, "", "")) })
	group.Go(func() { failures <- serving("health", probes.Serve(health)) })
	klog.FromContext(ctx).Info("Serving", "webhook", secure.Addr().String(), "health", health.Addr().String())

	var failure error
	select {
	case <-ctx.Done():
	case failure = <-failures:
	}
	s.stopping.Store(true)
	// The health endpoints stop last, so that they report the state until the end.
	failure = errors.Join(failure, s.shutdown(ctx, webhook), s.shutdown(ctx, probes))
	cancel()
	group.Wait()
	return failure
}

// health serves probes, scrapers and the handlers in Status.
func (s *Server) health() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", HealthHandler(s.checks(), s.config.Gatherer))
	for path, handler := range s.config.Status {
		mux.Handle("GET "+path, handler)
	}
	return mux
}

func (s *Server) checks() []Check {
	running := func() string {
		if s.stopping.Load() {
			return "stopping"
		}
		return ""
	}
	return append([]Check{running}, s.config.Checks...)
}

func newHTTPServer(ctx context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ErrorLog:          NewConnectionLog(klog.FromContext(ctx)),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          MaxStreams,
			MaxReceiveBufferPerStream:     receivePerStream,
			MaxReceiveBufferPerConnection: receivePerConnection,
		},
	}
}

// shutdown waits for requests in flight. It sets its own deadline, because ctx is already done.
func (s *Server) shutdown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("waiting for requests in flight: %w", err), server.Close())
	}
	return nil
}

func serving(what string, err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving %s: %w", what, err)
}
