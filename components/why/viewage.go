// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// ViewAge says how old the view of node-authorizer can be on one control-plane host. Before a denial,
// node-authorizer also reads the object from the API server. Each kube-apiserver asks the
// node-authorizer of its own host.
type ViewAge struct {
	Host string `json:"host"`
	// Resource is the part of the view that is the oldest.
	Resource string `json:"resource,omitempty"`
	// Seconds is the time since the API server last sent anything about Resource. In a quiet, healthy
	// cluster it stays near a minute.
	Seconds float64 `json:"seconds,omitempty"`
	// Unknown is why the age cannot be read. Then Resource and Seconds are empty.
	Unknown string `json:"unknown,omitempty"`
}

const (
	// controlPlaneLabel is kubeadm's. No node may set it on itself.
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
	// metricsPath is where kubelet-auth-proxy serves node-authorizer's metrics (KA-METRICS-2).
	metricsPath = "metrics/bulkhead/node-authorizer"
	// lagMetric is an age in seconds for each resource, scopeLagMetric that of ServiceAccounts.
	lagMetric      = "bulkhead_view_lag_seconds"
	scopeLagMetric = "bulkhead_node_scope_view_lag_seconds"
	// A host that is down must not delay the answer by more than twice this time.
	ageTimeout = 3 * time.Second
	maxMetrics = 4 << 20
)

// ReadMetrics returns a function for [Asker.Metrics]. The API server asks the kubelet's port of the
// host, so the caller needs `get` on nodes/proxy and on nodes/metrics (KA-VAP-1, KA-METRICS-1).
func ReadMetrics(client kubernetes.Interface) func(context.Context, string) ([]byte, error) {
	return func(ctx context.Context, host string) ([]byte, error) {
		page, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name(host).SubResource("proxy").
			Suffix(metricsPath).Stream(ctx)
		if err != nil {
			return nil, err
		}
		defer page.Close() //nolint:errcheck // it was only read
		return io.ReadAll(io.LimitReader(page, maxMetrics))
	}
}

// viewAges reads the ages of the hosts through the API server, one after the other.
func (k Asker) viewAges(ctx context.Context) []ViewAge {
	ctx, cancel := context.WithTimeout(ctx, 2*ageTimeout)
	defer cancel()
	hosts, err := k.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: controlPlaneLabel})
	if err != nil {
		return []ViewAge{{Unknown: cannotRead(err)}}
	}
	var ages []ViewAge
	for _, host := range hosts.Items {
		age := ViewAge{Unknown: "the other hosts took too long"}
		if ctx.Err() == nil {
			age = k.readAge(ctx, host.Name)
		}
		age.Host = webhook.Loggable(host.Name)
		ages = append(ages, age)
	}
	return ages
}

func (k Asker) readAge(ctx context.Context, host string) ViewAge {
	ctx, cancel := context.WithTimeout(ctx, ageTimeout)
	defer cancel()
	page, err := k.Metrics(ctx, host)
	if err != nil {
		return ViewAge{Unknown: cannotRead(err)}
	}
	age, err := oldest(page)
	if err != nil {
		return ViewAge{Unknown: cannotRead(err)}
	}
	return age
}

// oldest returns the resource that the API server has been silent about for the longest time.
func oldest(page []byte) (ViewAge, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return ViewAge{}, fmt.Errorf("cannot read the metrics: %w", err)
	}
	var ages []ViewAge
	for name, resource := range map[string]string{lagMetric: "", scopeLagMetric: "serviceaccounts"} {
		for _, metric := range families[name].GetMetric() {
			age := ViewAge{Resource: resource, Seconds: value(metric)}
			if !(age.Seconds >= 0) || math.IsInf(age.Seconds, 0) {
				continue
			}
			for _, label := range metric.GetLabel() {
				if label.GetName() == "resource" {
					age.Resource = webhook.Loggable(label.GetValue())
				}
			}
			ages = append(ages, age)
		}
	}
	if len(ages) == 0 {
		return ViewAge{}, fmt.Errorf("node-authorizer has no metric %s", lagMetric)
	}
	return slices.MaxFunc(ages, func(a, b ViewAge) int { return cmp.Compare(a.Seconds, b.Seconds) }), nil
}

// value is of a gauge, or of a metric without a type.
func value(metric *dto.Metric) float64 {
	if metric.Gauge == nil {
		return metric.GetUntyped().GetValue()
	}
	return metric.GetGauge().GetValue()
}

func (v ViewAge) String() string {
	switch {
	case v.Unknown != "" && v.Host == "":
		return "age unknown: " + v.Unknown
	case v.Unknown != "":
		return fmt.Sprintf("age on %s unknown: %s", v.Host, v.Unknown)
	}
	return fmt.Sprintf("on %s at most %.0f s old (%s)", v.Host, math.Ceil(v.Seconds), v.Resource)
}
