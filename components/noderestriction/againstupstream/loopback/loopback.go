// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/admissionwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	nodebench "github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const text = `One connection, HTTP/2, mutual TLS 1.3, JSON both ways; the caller is client-go, as in kube-apiserver, in the same process on the same
cores. The reviews are of updates of the status of a pod with two containers and four volumes. Ours takes a place, decodes the review and both objects,
decides (hardened), counts and answers; the other handler, on the same server code, decodes the same bytes with the same library and admits.
Full load: 64 callers, each of which asks again when it is answered. Half load: calls at random moments, half as many as ours answers at full load,
to both alike, counted from when they were due.`

const path = "/admit"

// Reviews measures reviews over loopback. lasting is how long each turn takes.
func Reviews(ctx context.Context, restriction *noderestriction.Restriction, plan nodebench.Plan, lasting time.Duration) (section report.Section, err error) {
	section = report.Section{Title: "AdmissionReview over loopback", Text: text}
	err = loopback.InDirectory(func(dir string) error {
		c, err := newContest(ctx, dir, restriction)
		if err != nil {
			return err
		}
		section.Rows, section.Profiles, err = c.Measure(ctx, plan, lasting)
		return errors.Join(err, c.Stop())
	})
	return section, err
}

// newContest serves both handlers and asks each once.
func newContest(ctx context.Context, dir string, restriction *noderestriction.Restriction) (*loopback.Contest, error) {
	registry := metrics.NewKubeRegistry()
	c := &loopback.Contest{What: "AdmissionReview", Other: "decoding"}
	return c, c.Serve(ctx, dir, [2]loopback.Handler{
		{Handler: newHandler(restriction, registry), Path: path, Registry: registry},
		{Handler: http.HandlerFunc(decodeAndAdmit), Path: path, Registry: metrics.NewKubeRegistry()},
	}, newCaller)
}

// newHandler is node-restriction's handler, as the program makes it.
func newHandler(restriction *noderestriction.Restriction, registry metrics.KubeRegistry) *admissionwebhook.Handler {
	return admissionwebhook.New(admissionwebhook.Config{
		Reviewer: admissionwebhook.ReviewerFunc(func(ctx context.Context, a admission.Attributes) rules.Decision {
			ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
			defer cancel()
			return restriction.Review(ctx, a)
		}),
		NodeName:  nodeidentity.Writer,
		Limits:    webhook.Limits{InFlight: 2000, InFlightPerNode: 200},
		LimitRule: rules.Rule{ID: "NR-LIMIT"},
		Rules:     noderestriction.Rules,
		Registry:  registry,
		Logger:    klog.Background(),
		Clock:     clock.RealClock{},
	})
}
