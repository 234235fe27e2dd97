// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/livelookup"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/customread"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// scopedEntry decides requests of ServiceAccounts that have a scope. It shares only the graph, the
// live reads and the revocation list with the webhook for nodes. So neither can use up the limits
// or the log of the other.
type scopedEntry struct {
	view     *view
	handler  *sarwebhook.Handler
	registry metrics.KubeRegistry
}

// newScopedEntry creates the authorizer and its webhook handler. The view must have scopes.
func newScopedEntry(ctx context.Context, c *config, v *view, reader *livelookup.Reader) (*scopedEntry, error) {
	limitRule, ok := rules.Find(nodescope.Rules, "NS-LIMIT")
	if !ok {
		return nil, errors.New("no rule NS-LIMIT")
	}
	entry := &scopedEntry{view: v, registry: metrics.NewKubeRegistry()}
	entry.registry.CustomMustRegister(newScopeCollector(v))
	// A pod must not do what its node may not do. This authorizer is always strict, even if the
	// webhook for nodes runs in compat mode.
	node := nodeauthorizer.New(nodeauthorizer.Config{
		Mode: nodeauthorizer.Strict, Features: c.features, Modes: c.extensions.modes,
		Relations: v.graph, Refresher: reader, Unready: v.sync.Unready,
	})
	entry.handler = sarwebhook.New(sarwebhook.Config{
		Authorizer: nodescope.New(nodescope.Config{
			Node: node, Info: v.scopes, Confirmer: podConfirmer{reader}, Custom: c.scope.custom,
			Objects: customread.New(v.client.CoreV1().RESTClient()), Unready: v.scopeUnready, Revoked: v.revokedSet(),
		}),
		Config: webhook.Config{
			NodeName: nodescope.ClaimedNode, Limits: c.limits, LimitRule: limitRule,
			Rules: nodescope.Rules, Registry: entry.registry, Entry: "node-scope", AuditOnly: c.extensions.notEnforced,
			Logger: klog.FromContext(ctx), Clock: clock.RealClock{},
		},
	})
	return entry, nil
}

// addTo serves scopedEntry in addition to the webhook's handler.
func (e *scopedEntry) addTo(w *program.Webhook) {
	both := http.NewServeMux()
	both.Handle(w.Path, w.Handler)
	both.Handle(scopedPath, e.handler)
	w.Path, w.Handler = "/", both
	w.Checks = append(w.Checks, e.view.accounts.Unready)
	w.Status = map[string]http.Handler{scopesync.SeenPath: scopesync.SeenHandler(e.view.seen)}
	w.More = append(w.More, e.registry)
	w.Background = append(w.Background, e.view.accounts.Run, e.view.unread.run, e.handler.Run)
}

// podConfirmer reads the pods of a node before the authorizer decides that a pod no longer exists.
type podConfirmer struct{ reader *livelookup.Reader }

func (p podConfirmer) ConfirmPod(ctx context.Context, node, namespace, name, uid string) string {
	return p.reader.RefreshPod(ctx, node, namespace, name, uid)
}

// seen returns the resource versions up to which decisions of node scope follow the API server.
func (v *view) seen() scopesync.SeenVersions {
	versions := v.sync.Seen()
	maps.Copy(versions, v.accounts.Seen())
	return versions
}

// scopeUnready returns why scopes must not be decided from the view.
func (v *view) scopeUnready() string { return cmp.Or(v.sync.Unready(), v.accounts.Unready()) }
