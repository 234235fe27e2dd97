// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

// Serve serves a handler with the server of Bulkhead's webhooks until ctx is done.
func Serve(ctx context.Context, files Files, securePort, healthPort int, path string, handler http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	registry := metrics.NewKubeRegistry()
	server, err := serve.New(serve.Config{
		BindAddress: "127.0.0.1", SecurePort: securePort, HealthPort: healthPort,
		CertFile: files.Server.CertFile, KeyFile: files.Server.KeyFile, ClientCAFile: files.CA.CertFile,
		AllowedClientNames: []string{ClientName}, Handler: mux, Registry: registry, Gatherer: registry,
		ShutdownTimeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// Listens reports whether a server accepts connections.
func Listens(address string) bool {
	connection, err := net.DialTimeout("tcp", address, time.Second) //nolint:noctx // bounded by its own time
	if err != nil {
		return false
	}
	return connection.Close() == nil
}

// Address returns the host:port of a port on loopback.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
