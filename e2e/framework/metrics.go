// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Webhook is the name of Bulkhead's entry in the API server's authorization file.
const Webhook = "node-authorizer.bulkhead.dev"

// FailOpen returns how often the API server skipped Bulkhead's webhook because a call of it failed.
func (c *Cluster) FailOpen(ctx context.Context) (float64, error) {
	return c.serverMetric(ctx, "apiserver_authorization_webhook_evaluations_fail_open_total", `name="`+Webhook+`"`)
}

// AuthorizationLoaded reports whether the API server uses the authorization file with this SHA-256, in
// hexadecimal.
func (c *Cluster) AuthorizationLoaded(ctx context.Context, hash string) (bool, error) {
	loaded, err := c.serverMetric(ctx, "apiserver_authorization_config_controller_last_config_info",
		`hash="sha256:`+hash+`"`)
	return loaded > 0, err
}

// ServerStart returns the start time of the API server's process.
func (c *Cluster) ServerStart(ctx context.Context) (time.Time, error) {
	seconds, err := c.serverMetric(ctx, "process_start_time_seconds", "")
	return time.Unix(int64(seconds), 0), err
}

// Registered returns the start time of the API server's process or, if later, the creation time of
// the Node. Without a Node object, a kubelet is denied requests that a registered kubelet may make.
func (c *Cluster) Registered(ctx context.Context, name string) (time.Time, error) {
	started, err := c.ServerStart(ctx)
	if err != nil {
		return started, err
	}
	node, err := c.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return started, fmt.Errorf("reading node %s: %w", name, err)
	}
	// The timestamp is truncated to a second.
	if made := node.CreationTimestamp.Add(time.Second); made.After(started) {
		return made, nil
	}
	return started, nil
}

// serverMetric returns the sum of the API server's samples of that name whose labels contain the
// given text.
func (c *Cluster) serverMetric(ctx context.Context, name, labels string) (float64, error) {
	text, err := c.Client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return sum(string(text), name, labels)
}

// ComponentMetric returns the sum of node-authorizer's samples of that name whose labels contain
// the given text.
func (c *Cluster) ComponentMetric(ctx context.Context, name, labels string) (float64, error) {
	text, err := c.Host.Run(ctx, c.ControlPlane, "curl -sS --fail --max-time 10 http://127.0.0.1:10462/metrics")
	if err != nil {
		return 0, err
	}
	return sum(text, name, labels)
}

// sum adds samples of Prometheus' text format. Without samples it returns zero.
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
