// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/admissionwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configfile"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/lookup"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/nodehistory"
	scopeadmission "github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// reviewTimeout limits the time of all lookups of one decision. It is less than the 2 s after which
// kube-apiserver gives up, so that the caller gets node-restriction's own error message.
const reviewTimeout = 1500 * time.Millisecond

// errReviewTimeout is the error of a lookup that runs when reviewTimeout ends. The lookup's own
// timeout may not have ended yet, because earlier lookups used part of the time.
var errReviewTimeout = fmt.Errorf("the API server has not answered within %v", reviewTimeout)

// start sets up logging and runs the program. They are separate functions because a process can set
// up logging only once, and tests call run several times.
func start(ctx context.Context, c *config) error {
	if err := program.StartLogging(c.logging); err != nil {
		return err
	}
	return run(ctx, c)
}

// run serves until ctx is done.
func run(ctx context.Context, c *config) error {
	client, err := kubeclient.New(c.kubeconfig, "bulkhead-node-restriction")
	if err != nil {
		return err
	}
	registry := metrics.NewKubeRegistry()
	policy, err := configfile.New(configfile.Config{Path: c.policyFile, Registry: registry})
	if err != nil {
		return err
	}
	known, err := newCluster(client, c, policy, registry)
	if err != nil {
		return err
	}
	restriction := newRestriction(c, known.view, policy)
	var scoped *scopedEntry
	if c.scope != nil {
		if scoped, err = newScopedEntry(ctx, c, client, restriction, known.view); err != nil {
			return err
		}
	}
	handler, err := newHandler(ctx, c, restriction, scoped, registry)
	if err != nil {
		return err
	}
	serving := program.Webhook{
		Server:     c.server,
		Path:       webhookPath,
		Handler:    handler,
		Checks:     []serve.Check{known.view.Unready, known.history.Unready},
		Registry:   registry,
		Client:     client,
		Background: []func(context.Context){policy.Run, known.view.Run, known.history.Run, handler.Run},
	}
	if scoped != nil {
		scoped.addTo(&serving)
	}
	return serving.Run(ctx)
}

// cluster has the current state of other objects, and their recorded history.
type cluster struct {
	view    *lookup.Cluster
	history *nodehistory.Store
}

func newCluster(client *kubeclient.Client, c *config, policy *configfile.File, registry metrics.KubeRegistry) (*cluster,
	error) {
	clientset, err := client.Kubernetes()
	if err != nil {
		return nil, err
	}
	metadata, err := client.Metadata()
	if err != nil {
		return nil, err
	}
	history := nodehistory.New(nodehistory.Config{Client: clientset, Configuration: policy.Current, Registry: registry})
	view := lookup.New(lookup.Config{
		Client: clientset, Metadata: metadata, NodeHistory: history, Registry: registry,
		CountsSigningRequests: func() bool {
			policy := policy.Current()
			return policy != nil && policy.Caps.CertificateSigningRequests > 0 && c.modes["NR-CSR-5"] != rules.Off
		},
	})
	return &cluster{view: view, history: history}, nil
}

func newRestriction(c *config, view *lookup.Cluster, policy *configfile.File) *noderestriction.Restriction {
	return noderestriction.New(noderestriction.Config{
		Cluster: view, Authorizer: view, Features: c.features, Modes: c.modes,
		Configuration: policy.Current, APIAudiences: c.apiAudiences, AuditOnly: c.notEnforced != nil,
	})
}

// review decides on one write.
type review func(context.Context, admission.Attributes) rules.Decision

// inTime limits the time of all lookups of one decision.
func inTime(policy review) admissionwebhook.Reviewer {
	return admissionwebhook.ReviewerFunc(func(ctx context.Context, a admission.Attributes) rules.Decision {
		ctx, cancel := context.WithTimeoutCause(ctx, reviewTimeout, errReviewTimeout)
		defer cancel()
		return policy(ctx, a)
	})
}

// newHandler returns the webhook handler for writes of nodes. If scoped is not nil, node scope is
// on. Then the handler also denies nodes the annotations of node scope.
func newHandler(ctx context.Context, c *config, restriction *noderestriction.Restriction, scoped *scopedEntry,
	registry metrics.KubeRegistry) (*admissionwebhook.Handler, error) {
	limitRule, ok := rules.Find(noderestriction.Rules, "NR-LIMIT")
	if !ok {
		return nil, errors.New("no rule NR-LIMIT")
	}
	policy, cited := review(restriction.Review), noderestriction.Rules
	if scoped != nil {
		policy, cited = scoped.reviewer.ReviewNode, slices.Concat(cited, scopeadmission.Rules)
	}
	return admissionwebhook.New(admissionwebhook.Config{
		Reviewer: inTime(policy),
		Config: webhook.Config{
			NodeName: nodeidentity.Writer, Limits: c.limits, LimitRule: limitRule, Rules: cited, Registry: registry,
			AuditOnly: c.notEnforced, Logger: klog.FromContext(ctx), Clock: clock.RealClock{},
		},
	}), nil
}
