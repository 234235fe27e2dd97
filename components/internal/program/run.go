// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // calls to the API server

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

// Webhook is what a program serves, with its background tasks. Every field except More and Status
// is required.
type Webhook struct {
	// Server is the configuration from the flags ([Options.Server]).
	Server serve.Config
	// Path is the URL path of Handler.
	Path    string
	Handler http.Handler
	// Checks all pass once the program is ready.
	Checks   []serve.Check
	Registry metrics.KubeRegistry
	// More are metrics besides those of Registry.
	More []metrics.Gatherer
	// Status are additional handlers on the health port, by path.
	Status map[string]http.Handler
	// Client is the client for the API server. Run reloads its kubeconfig.
	Client *kubeclient.Client
	// Background are the tasks that the handler needs, and the task that writes the log. Each
	// returns when its context is done.
	Background []func(context.Context)
}

// Run serves until ctx is done and every request in flight is answered. The background tasks stop
// after the server, because the last requests still need them.
func (w Webhook) Run(ctx context.Context) error {
	server, err := w.server()
	if err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { w.Client.Run(background) })
	for _, task := range w.Background {
		group.Go(func() { task(background) })
	}
	err = server.Run(ctx)
	stop()
	group.Wait()
	return err
}

// server creates the server for the webhook and its health endpoints.
func (w Webhook) server() (*serve.Server, error) {
	mux := http.NewServeMux()
	mux.Handle(w.Path, w.Handler)
	config := w.Server
	config.Handler = mux
	config.Checks = w.Checks
	config.Registry = w.Registry
	config.Status = w.Status
	// DefaultGatherer contains the metrics of libraries: Go, the process, API calls.
	all := prometheus.Gatherers{w.Registry, legacyregistry.DefaultGatherer}
	for _, more := range w.More {
		all = append(all, more)
	}
	config.Gatherer = all
	config.Expiries = map[string]serve.Expiry{
		"kube-client": func() (time.Time, bool) {
			certificate, _ := w.Client.Files()
			return serve.ExpiryOfFile(certificate)()
		},
		"kube-ca": func() (time.Time, bool) {
			_, ca := w.Client.Files()
			return serve.ExpiryOfFile(ca)()
		},
	}
	return serve.New(config)
}
