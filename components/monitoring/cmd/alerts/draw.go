// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/monitoring/dashboard"
	"github.com/bulkhead-k8s/bulkhead/e2e/reliability"
)

const (
	dashboardPath = "manifests/monitoring/dashboard.json"
	// rateWindow is the value of Grafana's $__rate_interval.
	rateWindow = time.Minute
	// drawnPoints is the number of points of a line.
	drawnPoints = 240
)

// drawDashboard queries Prometheus for what each panel shows over the run, and writes the figure.
func drawDashboard(ctx context.Context, p *prometheus, r *result, root, file string) error {
	text, err := os.ReadFile(filepath.Join(root, dashboardPath)) //nolint:gosec // the checkout that the user named
	if err != nil {
		return err
	}
	title, panels, err := dashboard.Parse(text)
	if err != nil {
		return err
	}
	end := r.began.Add(r.lasted)
	figure := dashboard.Figure{
		Title: title, Begin: r.began, End: end, Panels: panels, Results: map[int][]dashboard.Series{},
		Subtitle: fmt.Sprintf("While make alerts broke the cluster for %s: %s, Kubernetes %s, Prometheus %s, %s",
			minutes(r.lasted), r.began.UTC().Format(time.DateOnly), r.kubernetes, r.prometheus,
			reliability.Machine()),
	}
	for i, panel := range panels {
		for _, target := range panel.Targets {
			found, err := p.draw(ctx, &target, r.began, end)
			if err != nil {
				return fmt.Errorf("cannot draw the panel %q: %w", panel.Title, err)
			}
			figure.Results[i] = append(figure.Results[i], found...)
		}
	}
	return os.WriteFile(file, figure.SVG(), 0o644) //nolint:gosec // a figure of the docs
}

// draw returns the series of a target.
func (p *prometheus) draw(ctx context.Context, target *dashboard.Target, begin, end time.Time) ([]dashboard.Series,
	error) {
	query := target.Query(rateWindow, end.Sub(begin))
	var found []series
	var err error
	if target.Instant {
		found, err = p.at(ctx, query, end)
	} else {
		step := max(scrapeInterval, end.Sub(begin)/drawnPoints).Round(time.Second)
		found, err = p.between(ctx, query, begin, end, step)
	}
	var drawn []dashboard.Series
	for _, s := range found {
		one := dashboard.Series{Name: target.Legend(s.Metric)}
		if s.Value != nil {
			s.Values = append(s.Values, *s.Value)
		}
		for _, v := range s.Values {
			one.Points = append(one.Points, dashboard.Point{At: v.at, Value: v.value})
		}
		drawn = append(drawn, one)
	}
	return drawn, err
}
