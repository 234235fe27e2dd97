// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/admissionwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	scopeadmission "github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// scopedEntry answers the writes of service accounts that have a scope. It shares only the rules
// and the live lookups with the handler for nodes. Each has its own limits and its own log, so
// neither can use up those of the other.
type scopedEntry struct {
	reviewer *scopeadmission.Reviewer
	handler  *admissionwebhook.Handler
	scopes   *graphsync.Sync
	registry metrics.KubeRegistry
}

// newScopedEntry returns the entry. The configuration must have node scope on.
func newScopedEntry(ctx context.Context, c *config, client *kubeclient.Client, nodes *noderestriction.Restriction,
	pods scopeadmission.Pods) (*scopedEntry, error) {
	limitRule, ok := rules.Find(nodescope.Rules, "NS-LIMIT")
	if !ok {
		return nil, errors.New("no rule NS-LIMIT")
	}
	clientset, err := client.Kubernetes()
	if err != nil {
		return nil, err
	}
	index := scopeindex.New(nowhere{}, nil)
	e := &scopedEntry{
		scopes:   graphsync.NewAnnotated(clientset, index, index, graphsync.Options{MaxAge: c.scope.maxViewAge}),
		registry: metrics.NewKubeRegistry(),
	}
	e.reviewer = scopeadmission.New(scopeadmission.Config{
		Nodes: nodes, HasRules: noderestriction.HasRules, Accounts: index, Pods: pods, Custom: c.scope.custom,
		Unready: e.scopes.Unready,
	})
	e.handler = admissionwebhook.New(admissionwebhook.Config{
		Reviewer: inTime(e.reviewer.Review),
		Untyped:  declaredIn(c.scope.custom),
		Config: webhook.Config{
			NodeName: nodescope.ClaimedNode, Limits: c.limits, LimitRule: limitRule,
			Rules:    slices.Concat(nodescope.Rules, scopeadmission.Rules, noderestriction.Rules),
			Registry: e.registry, Entry: "node-scope", AuditOnly: c.notEnforced,
			Logger: klog.FromContext(ctx), Clock: clock.RealClock{},
		},
	})
	return e, nil
}

// addTo serves the entry on the same server as the webhook for nodes.
func (e *scopedEntry) addTo(w *program.Webhook) {
	both := http.NewServeMux()
	both.Handle(w.Path, w.Handler)
	both.Handle(scopedPath, e.handler)
	w.Path, w.Handler = "/", both
	w.Checks = append(w.Checks, e.scopes.Unready)
	w.Status = map[string]http.Handler{scopesync.SeenPath: scopesync.SeenHandler(func() scopesync.SeenVersions {
		return e.scopes.Seen()
	})}
	w.More = append(w.More, e.registry)
	w.Background = append(w.Background, e.scopes.Run, e.handler.Run)
}

func declaredIn(custom nodescope.Declarations) func(schema.GroupResource) bool {
	return func(r schema.GroupResource) bool {
		_, declared := custom.Of(nodescope.Resource{Group: r.Group, Resource: r.Resource})
		return declared
	}
}

// nowhere is for a scope index that is never asked for the node of a pod. The reviewer looks up
// pods in the API server instead.
type nowhere struct{}

func (nowhere) BoundPod(string, string) (none nodescope.Pod, known bool) {
	return nodescope.Pod{}, false
}
