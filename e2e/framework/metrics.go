// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Webhook is the name of our entry in the API server's authorization file.
const Webhook = "node-authorizer.bulkhead.dev"

// FailOpen is how often the API server has passed by our webhook because a call
// of it failed.
func (c *Cluster) FailOpen(ctx context.Context) (float64, error) {
	text, err := c.Client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return sum(string(text), "apiserver_authorization_webhook_evaluations_fail_open_total", `name="`+Webhook+`"`)
}

// ComponentMetric is the sum of the node authorizer's samples of that name whose
// labels contain the given text.
func (c *Cluster) ComponentMetric(ctx context.Context, name, labels string) (float64, error) {
	text, err := c.Host.Run(ctx, c.ControlPlane, "curl -sS --fail --max-time 10 http://127.0.0.1:10462/metrics")
	if err != nil {
		return 0, err
	}
	return sum(text, name, labels)
}

// sum adds samples of Prometheus' text format. No sample is zero.
func sum(text, name, labels string) (float64, error) {
	total := 0.0
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") || !strings.Contains(rest, labels) {
			continue
		}
		words := strings.Fields(rest[strings.LastIndexByte(rest, '}')+1:])
		if len(words) == 0 {
			continue
		}
		value, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			return 0, fmt.Errorf("reading %q: %w", strings.TrimSpace(line), err)
		}
		total += value
	}
	return total, nil
}
