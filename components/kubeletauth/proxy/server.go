// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

const (
	// keepAlive is the kubelet's own.
	keepAlive = 90 * time.Second
	// maxStreams bounds the requests in flight on one HTTP/2 connection. A client that
	// has more opens another.
	maxStreams = 64
	// frame and window are the least that HTTP/2 may have for a connection. It reads
	// ahead of who asks what, so that bodies cost memory before anybody is known.
	frame, window = 16 << 10, 64 << 10
	// healthTimeout bounds what the health port reads and writes.
	healthTimeout = 30 * time.Second
)

// ServerConfig is what a [Server] is made of.
type ServerConfig struct {
	// Addresses are the node's own, each an IP. Port is the same on all.
	Addresses []string
	Port      int
	// HealthAddress is on loopback.
	HealthAddress string
	HealthPort    int

	Handler *Handler
	// Serving is the certificate that clients see.
	Serving *Pair
	// ClientCA is named to clients, so that they show the right certificate. It
	// proves nothing here: the handler's authenticator does. It may be nil.
	ClientCA dynamiccertificates.CAContentProvider
	// MinVersion and CipherSuites are crypto/tls's. No suite means Go's choice.
	MinVersion   uint16
	CipherSuites []uint16
	// MaxHeaderBytes bounds the headers of a request, with its path and query, which
	// hold the command of an exec.
	MaxHeaderBytes int
	// HeaderTimeout is how long a client may take for a handshake, and for the headers
	// of a request.
	HeaderTimeout time.Duration
	// RequestTimeout bounds an ordinary request with its answer. Streams are bounded by
	// [Limits].
	RequestTimeout time.Duration
	Connections    ConnectionLimits

	// Checks are met once the proxy is ready.
	Checks   []serve.Check
	Registry metrics.KubeRegistry
	Gatherer metrics.Gatherer
	// Expiries are of certificates that others use, by name.
	Expiries map[string]serve.Expiry
	// DrainTimeout is how long streams may go on when the proxy is stopped;
	// ShutdownTimeout, from then on, what is in flight.
	DrainTimeout, ShutdownTimeout time.Duration
}

// Server is the proxy on the node's addresses, with its health on loopback.
type Server struct {
	config              ServerConfig
	room                *room
	tls                 *listenerTLS
	listening, stopping atomic.Bool
}

// NewServer registers metrics. It listens to nothing.
func NewServer(config ServerConfig) (*Server, error) {
	if len(config.Addresses) == 0 {
		return nil, errors.New("no address to listen on")
	}
	for _, address := range config.Addresses {
		// The kubelet is on loopback, and an unspecified address would include it.
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
	return &Server{
		config: config, tls: newListenerTLS(config),
		room: newRoom(config.Connections, int64(maxHandshake+2*config.MaxHeaderBytes), config.Registry),
	}, nil
}

// Run serves until ctx is done, then lets streams and requests end, and returns.
func (s *Server) Run(ctx context.Context) error {
	health, err := bind(ctx, s.config.HealthAddress, s.config.HealthPort)
	if err != nil {
		// Told to stop before there was a port.
		return nil
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	probes := s.probes(ctx)
	var group sync.WaitGroup
	group.Go(func() { s.config.Serving.Run(background) })
	group.Go(func() { _ = probes.Serve(health) })
	failure := s.serve(ctx)
	// Health last: it says what is going on until the end.
	failure = errors.Join(failure, probes.Close())
	stop()
	group.Wait()
	return failure
}

// serve listens on every address and serves until ctx is done or one of them
// fails.
func (s *Server) serve(ctx context.Context) error {
	var listeners []net.Listener
	for _, address := range s.config.Addresses {
		listener, err := bind(ctx, address, s.config.Port)
		if err != nil {
			// Told to stop before there was a port.
			return closeAll(listeners)
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
		group.Go(func() { failures <- server.ServeTLS(gate{listener, s.room}, "", "") })
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

// shutdown closes the listeners, so that the next process can have the port, and
// waits for streams, ends them, and waits for requests.
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
		TLSConfig:         s.tls.config(),
		ErrorLog:          serve.NewConnectionLog(klog.FromContext(ctx)),
		ReadHeaderTimeout: s.config.HeaderTimeout,
		WriteTimeout:      s.config.RequestTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    s.config.MaxHeaderBytes,
		ConnContext:       withConnection,
		// OPTIONS * is for the handler to refuse.
		DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReadFrameSize: frame,
			MaxReceiveBufferPerConnection: window, MaxReceiveBufferPerStream: maxBody,
		},
	}
}

func (s *Server) probes(ctx context.Context) *http.Server {
	return &http.Server{
		Handler:        serve.HealthHandler(append([]serve.Check{s.state}, s.config.Checks...), s.config.Gatherer),
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
		return "the kubelet's port, which is taken"
	default:
		return ""
	}
}
