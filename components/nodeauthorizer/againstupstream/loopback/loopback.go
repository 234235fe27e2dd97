// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const text = `One connection, HTTP/2, mutual TLS 1.3, JSON both ways; the caller is client-go, as in kube-apiserver, in the same process on the same
cores. Ours decodes the review, takes a place, decides (hardened, in upstream's world of 100,000 pods), counts and answers; the other handler,
on the same server code, reads the request and writes a constant. Full load: 64 callers, each of which asks again when it is answered. Half load: calls
at random moments, half as many as ours answers at full load, to both alike, counted from when they were due.`

// Reviews measures reviews over loopback. lasting is how long each turn takes.
func Reviews(ctx context.Context, plan bench.Plan, lasting time.Duration) (section report.Section, err error) {
	section = report.Section{Title: "SubjectAccessReview over loopback", Text: text}
	err = contest(ctx, &section, plan, lasting, newContest)
	return section, err
}

// contest makes one, and takes what it measures into the section.
func contest(ctx context.Context, section *report.Section, plan bench.Plan, lasting time.Duration, begin func(context.Context, string, bench.Shape) (*Contest, error)) error {
	plan.Say("%s: making the world", section.Title)
	return InDirectory(func(dir string) error {
		c, err := begin(ctx, dir, plan.Large)
		if err != nil {
			return err
		}
		section.Rows, section.Profiles, err = c.Measure(ctx, plan, lasting)
		return errors.Join(err, c.Stop())
	})
}

// newContest serves both handlers and asks each once.
func newContest(ctx context.Context, dir string, shape bench.Shape) (*Contest, error) {
	side := bench.NewHardened()
	bench.Populate(side, bench.NewWorld(shape))
	var reviews []*authorizationv1.SubjectAccessReview
	for node := range shape.Nodes {
		name := fmt.Sprintf("node%d", node)
		reviews = append(reviews, SecretReview(name, "ns0", "secret0-pod0-"+name))
	}
	c := &Contest{What: "SubjectAccessReview", Other: "constant"}
	answer := constant(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true,"reason":"[NA-SECRET-1]"}}`)
	return c, c.serveReviews(ctx, dir, policy{side.(sarwebhook.Authorizer), nodeidentity.NodeName, "NA-LIMIT", nodeauthorizer.Rules}, answer, func(ctx context.Context, caller *Caller, n int) error {
		return caller.mustAllow(ctx, reviews[n%len(reviews)])
	})
}

// serveReviews serves a policy and a constant, and asks them as ask does.
func (c *Contest) serveReviews(ctx context.Context, dir string, p policy, answer constant, ask func(ctx context.Context, caller *Caller, n int) error) error {
	registry := metrics.NewKubeRegistry()
	handler := newHandler(p, registry)
	logging, stopLogging := context.WithCancel(ctx)
	go handler.Run(logging)
	c.stops = append(c.stops, func() error { stopLogging(); return nil })
	return c.Serve(ctx, dir, [2]Handler{
		{handler, "/authorize", registry}, {answer, "/authorize", metrics.NewKubeRegistry()},
	}, func(address string, files Files) (func(context.Context, int) error, error) {
		caller, err := NewCaller(address, files)
		return func(ctx context.Context, n int) error { return ask(ctx, caller, n) }, err
	})
}
