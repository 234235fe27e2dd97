// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

const (
	// keepAlive is the same as in the kubelet.
	keepAlive = 90 * time.Second
	// maxStreams bounds the requests in flight on one HTTP/2 connection. A client with more
	// opens another connection.
	maxStreams = 64
	// frame and window are the smallest values that HTTP/2 allows for a connection. The server
	// reads bodies into memory before a request is authenticated.
	frame, window = 16 << 10, 64 << 10
	// healthTimeout bounds reads and writes on the health port.
	healthTimeout = 30 * time.Second
	// bindInterval is the wait before the next attempt to listen on a port that is in use.
	bindInterval = time.Second
	// bindReminders is the number of attempts from one log line to the next.
	bindReminders = 30
)

// ServerConfig is the configuration of a [Server].
type ServerConfig struct {
	// Addresses are the node's own IPs. Port is the same on all addresses.
	Addresses []string
	Port      int
	// HealthAddress is a loopback address.
	HealthAddress string
	HealthPort    int

	Handler *Handler
	// Serving is the serving certificate.
	Serving *Pair
	// ClientCA tells clients in the handshake which certificate to present. The handler's
	// authenticator verifies it. It may be nil.
	ClientCA dynamiccertificates.CAContentProvider
	// MinVersion and CipherSuites are values of crypto/tls. If CipherSuites is empty, Go chooses.
	MinVersion   uint16
	CipherSuites []uint16
	// MaxHeaderBytes bounds the headers of a request, including its path and query. The query of an
	// exec contains the command.
	MaxHeaderBytes int
	// HeaderTimeout bounds a handshake, and the time to send the headers of a request.
	HeaderTimeout time.Duration
	// RequestTimeout bounds an ordinary request with its answer. It does not apply to streams,
	// which have [Limits].
	RequestTimeout time.Duration
	Connections    ConnectionLimits

	// Checks must all pass before the proxy is ready.
	Checks   []serve.Check
	Registry metrics.KubeRegistry
	Gatherer metrics.Gatherer
	// Expiries are the expiry times of other certificates, by name.
	Expiries map[string]serve.Expiry
	// DrainTimeout bounds streams after the proxy is stopped. After that, ShutdownTimeout bounds
	// the requests in flight.
	DrainTimeout, ShutdownTimeout time.Duration
}

// Server serves the proxy on the node's addresses, and its health endpoints on loopback.
type Server struct {
	config              ServerConfig
	connections         *connectionPool
	tls                 *dynamiccertificates.DynamicServingCertificateController
	listening, stopping atomic.Bool
}

// NewServer validates the configuration and registers metrics. It does not listen yet.
func NewServer(config ServerConfig) (*Server, error) {
	if len(config.Addresses) == 0 {
		return nil, errors.New("no address to listen on")
	}
	for _, address := range config.Addresses {
		// The kubelet uses the port on loopback, which an unspecified address includes.
		if ip := net.ParseIP(address); ip == nil || ip.IsUnspecified() {
			return nil, fmt.Errorf("bind address %q is not the address of one interface", address)
		}
	}
	if err := config.Connections.Validate(); err != nil {
		return nil, err
	}
	expiries := map[string]serve.Expiry{"serving": config.Serving.Expiry}
	maps.Copy(expiries, config.Expiries)
	if err := serve.RegisterExpiries(config.Registry, expiries); err != nil {
		return nil, err
	}
	controller, err := servingTLS(config)
	if err != nil {
		return nil, err
	}
	return &Server{
		config: config, tls: controller,
		connections: newConnectionPool(config.Connections, int64(maxHandshake+2*config.MaxHeaderBytes), config.Registry),
	}, nil
}

// Run serves until ctx is done. It returns when streams and requests have ended.
func (s *Server) Run(ctx context.Context) error {
	health, err := bind(ctx, s.config.HealthAddress, s.config.HealthPort)
	if err != nil {
		return nil // stopped before the port was free
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	probes := healthServer(ctx, append([]serve.Check{s.state}, s.config.Checks...), s.config.Gatherer)
	var group sync.WaitGroup
	group.Go(func() { s.config.Serving.Run(background) })
	group.Go(func() { s.tls.Run(1, background.Done()) })
	group.Go(func() { _ = probes.Serve(health) })
	failure := s.serve(ctx)
	// The health port closes last, so that it reports the shutdown.
	failure = errors.Join(failure, probes.Close())
	stop()
	group.Wait()
	return failure
}

// serve listens on every address, and serves until ctx is done or one listener fails.
func (s *Server) serve(ctx context.Context) error {
	var listeners []net.Listener
	for _, address := range s.config.Addresses {
		listener, err := bind(ctx, address, s.config.Port)
		if err != nil {
			return closeAll(listeners) // stopped before the port was free
		}
		listeners = append(listeners, listener)
	}
	return s.serveOn(ctx, listeners...)
}

func closeAll(listeners []net.Listener) error {
	var failure error
	for _, listener := range listeners {
		failure = errors.Join(failure, listener.Close())
	}
	return failure
}

func (s *Server) serveOn(ctx context.Context, listeners ...net.Listener) error {
	server := s.server(ctx)
	failures := make(chan error, len(listeners))
	var group sync.WaitGroup
	for _, listener := range listeners {
		group.Go(func() { failures <- server.ServeTLS(limitedListener{listener, s.connections}, "", "") })
	}
	s.listening.Store(true)
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-failures:
	}
	s.stopping.Store(true)
	failure = errors.Join(failure, s.shutdown(ctx, server))
	group.Wait()
	return failure
}

// shutdown closes the listeners, which frees the port for the next process. It waits for
// streams, ends the rest, and waits for requests.
func (s *Server) shutdown(ctx context.Context, server *http.Server) error {
	ctx = context.WithoutCancel(ctx)
	drain, cancel := context.WithTimeout(ctx, s.config.DrainTimeout)
	defer cancel()
	all, stop := context.WithTimeout(ctx, s.config.DrainTimeout+s.config.ShutdownTimeout)
	defer stop()
	down := make(chan error, 1)
	go func() { down <- server.Shutdown(all) }()
	s.config.Handler.Drain(drain)
	if err := <-down; err != nil {
		return errors.Join(fmt.Errorf("waiting for requests in flight: %w", err), server.Close())
	}
	return nil
}

func (s *Server) server(ctx context.Context) *http.Server {
	return &http.Server{
		Handler:           s.config.Handler,
		TLSConfig:         &tls.Config{MinVersion: s.config.MinVersion, GetConfigForClient: s.tls.GetConfigForClient},
		ErrorLog:          serve.NewConnectionLog(klog.FromContext(ctx)),
		ReadHeaderTimeout: s.config.HeaderTimeout,
		WriteTimeout:      s.config.RequestTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    s.config.MaxHeaderBytes,
		ConnContext:       withConnection,
		// The handler denies OPTIONS *.
		DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReadFrameSize: frame,
			MaxReceiveBufferPerConnection: window, MaxReceiveBufferPerStream: maxBody,
		},
	}
}

func healthServer(ctx context.Context, checks []serve.Check, gatherer metrics.Gatherer) *http.Server {
	return &http.Server{
		Handler:        serve.HealthHandler(checks, gatherer),
		ErrorLog:       serve.NewConnectionLog(klog.FromContext(ctx)),
		ReadTimeout:    healthTimeout,
		WriteTimeout:   healthTimeout,
		IdleTimeout:    keepAlive,
		MaxHeaderBytes: 4 << 10,
	}
}

// state is a [serve.Check].
func (s *Server) state() string {
	switch {
	case s.stopping.Load():
		return "stopping"
	case !s.listening.Load():
		return "the kubelet's port, which is in use"
	default:
		return ""
	}
}

// bind listens, and retries until it succeeds. The kubelet uses the port until it has moved to
// loopback, and an address may be configured after the process has started.
func bind(ctx context.Context, host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	ticker := time.NewTicker(bindInterval)
	defer ticker.Stop()
	for try := 0; ; try++ {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil {
			klog.FromContext(ctx).Info("Listening", "address", listener.Addr().String(), "tries", try+1)
			return listener, nil
		}
		if try%bindReminders == 0 {
			klog.FromContext(ctx).Info("Cannot listen yet; the kubelet may not have moved to loopback", "address", address,
				"error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// limitedListener gives each connection a slot of the pool.
type limitedListener struct {
	net.Listener
	pool *connectionPool
}

// Accept waits for a connection.
func (l limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.pool.enter(conn), nil
}
