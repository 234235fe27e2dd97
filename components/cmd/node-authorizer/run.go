// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/livelookup"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// start configures logging, which is possible only once in a process, and calls run.
func start(ctx context.Context, c *config) error {
	if err := program.StartLogging(c.logging); err != nil {
		return err
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
	d, err := newDecider(ctx, c, view)
	if err != nil {
		return err
	}
	// A live read may outlive its request. Wait for the last one.
	defer d.reader.Wait()
	serving := program.Webhook{
		Server:     c.server,
		Path:       webhookPath,
		Handler:    d.handler,
		Checks:     []serve.Check{view.sync.Unready},
		Registry:   d.registry,
		Client:     client,
		Background: append(d.background, view.sync.Run),
	}
	if view.revoked != nil {
		serving.Checks = append(serving.Checks, view.revoked.unready)
		serving.Background = append(serving.Background, view.revoked.run)
	}
	if c.scope != nil {
		scoped, err := newScopedEntry(ctx, c, view, d.reader)
		if err != nil {
			return err
		}
		scoped.addTo(&serving)
	}
	return serving.Run(ctx)
}

// decider is the webhook handler with its live reads and metrics.
type decider struct {
	handler  *sarwebhook.Handler
	reader   *livelookup.Reader
	registry metrics.KubeRegistry
	// background are the functions that run while the program serves.
	background []func(context.Context)
}

// newDecider creates the authorizer and its webhook handler.
func newDecider(ctx context.Context, c *config, v *view) (*decider, error) {
	limitRule, ok := rules.Find(nodeauthorizer.Rules, "NA-LIMIT")
	if !ok {
		return nil, errors.New("no rule NA-LIMIT")
	}
	registry := metrics.NewKubeRegistry()
	registry.CustomMustRegister(newViewCollector(v))
	if v.revoked != nil {
		registry.CustomMustRegister(newRevocationCollector(v.revoked))
	}
	reader := livelookup.New(livelookup.Config{Client: v.client, View: v.sync, Registry: registry})
	// A version that is not read counts as known.
	version := &serverVersion{client: v.client}
	policy := nodeauthorizer.New(nodeauthorizer.Config{
		Mode: c.mode, Features: c.features, Modes: c.extensions.modes,
		Relations: v.graph, Refresher: reader, Unready: v.sync.Unready, Revoked: v.revokedSet(),
		NewerServer: version.isNewer,
	})
	handler := sarwebhook.New(sarwebhook.Config{
		Authorizer: policy,
		Config: webhook.Config{
			NodeName: nodeidentity.NodeName, Limits: c.limits, LimitRule: limitRule,
			Rules: nodeauthorizer.Rules, Registry: registry, AuditOnly: c.extensions.notEnforced,
			Logger: klog.FromContext(ctx), Clock: clock.RealClock{},
		},
	})
	d := &decider{handler: handler, reader: reader, registry: registry,
		background: []func(context.Context){handler.Run}}
	if c.readVersion {
		d.background = append(d.background, version.run)
	}
	return d, nil
}
