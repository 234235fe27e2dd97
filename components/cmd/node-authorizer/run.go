// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // calls to the API server
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// start sets up logging, which a process can do only once, and runs.
func start(ctx context.Context, c *config) error {
	if err := logsapi.ValidateAndApply(c.logging, nil); err != nil {
		return fmt.Errorf("setting up logging: %w", err)
	}
	return run(ctx, c)
}

// run serves until ctx is done.
func run(ctx context.Context, c *config) error {
	client, err := kubeclient.New(c.kubeconfig, "bulkhead-node-authorizer")
	if err != nil {
		return err
	}
	clientset, err := client.Kubernetes()
	if err != nil {
		return err
	}
	view := newView(clientset, c)
	webhook, err := newWebhook(ctx, c, view)
	if err != nil {
		return err
	}
	server, err := newServer(c, view, client, webhook)
	if err != nil {
		return err
	}

	// The view is kept current, and the log written, while requests in flight are
	// answered: they end after the server, not with it.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { client.Run(background) })
	group.Go(func() { view.sync.Run(background) })
	group.Go(func() { webhook.handler.Run(background) })
	err = server.Run(ctx)
	stop()
	group.Wait()
	return err
}

// view is the graph with what keeps it current.
type view struct {
	graph *graph.Graph
	sync  *graphsync.Sync
}

func newView(client kubernetes.Interface, c *config) *view {
	g := graph.New()
	return &view{graph: g, sync: graphsync.New(client, g, graphsync.Options{
		MaxAge:                        c.maxViewAge,
		WithoutPodCertificateRequests: !c.features.PodCertificateRequest,
	})}
}

// webhook is the handler with the registry of its metrics.
type webhook struct {
	handler  *sarwebhook.Handler
	registry metrics.KubeRegistry
}

// newWebhook joins policy and transport.
func newWebhook(ctx context.Context, c *config, v *view) (*webhook, error) {
	limitRule, err := ruleByID("NA-LIMIT")
	if err != nil {
		return nil, err
	}
	registry := metrics.NewKubeRegistry()
	registry.CustomMustRegister(newViewCollector(v))
	policy := nodeauthorizer.New(nodeauthorizer.Config{
		Mode: c.mode, Features: c.features, Relations: v.graph, Unready: v.sync.Unready,
	})
	handler := sarwebhook.New(sarwebhook.Config{
		Authorizer: policy,
		NodeName:   nodeidentity.NodeName,
		Limits:     c.limits,
		MaxReading: serve.MaxStreams,
		LimitRule:  limitRule,
		Rules:      nodeauthorizer.Rules,
		Registry:   registry,
		Logger:     klog.FromContext(ctx),
		Clock:      clock.RealClock{},
	})
	return &webhook{handler: handler, registry: registry}, nil
}

// newServer puts the webhook behind a listener, with its health beside it.
func newServer(c *config, v *view, client *kubeclient.Client, w *webhook) (*serve.Server, error) {
	mux := http.NewServeMux()
	mux.Handle("/authorize", w.handler)
	server := c.server
	server.Handler = mux
	server.Checks = []serve.Check{v.sync.Unready}
	server.Registry = w.registry
	// The second holds what libraries measure: Go, the process, API calls.
	server.Gatherer = prometheus.Gatherers{w.registry, legacyregistry.DefaultGatherer}
	server.Expiries = map[string]serve.Expiry{
		"kube-client": func() (time.Time, bool) {
			certificate, _ := client.Files()
			return serve.ExpiryOfFile(certificate)()
		},
		"kube-ca": func() (time.Time, bool) {
			_, ca := client.Files()
			return serve.ExpiryOfFile(ca)()
		},
	}
	return serve.New(server)
}

func ruleByID(id rules.ID) (rules.Rule, error) {
	for _, rule := range nodeauthorizer.Rules {
		if rule.ID == id {
			return rule, nil
		}
	}
	return rules.Rule{}, fmt.Errorf("no rule %s", id)
}
