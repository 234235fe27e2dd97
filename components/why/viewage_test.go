// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const metricsPage = `# TYPE bulkhead_view_lag_seconds gauge
bulkhead_view_lag_seconds{resource="pods"} 3.4
bulkhead_view_lag_seconds{resource="nodes"} 61.2
# TYPE bulkhead_node_scope_view_lag_seconds gauge
bulkhead_node_scope_view_lag_seconds 12
`

func host(name string, labels ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, label := range labels {
		node.Labels[label] = ""
	}
	return node
}

// TestTheAgeOfTheView: the workers are not asked, because a compromised one could answer anything.
func TestTheAgeOfTheView(t *testing.T) {
	type status = authorizationv1.SubjectAccessReviewStatus
	denied := status{Denied: true, Reason: unrelated}
	for _, row := range []struct {
		name   string
		status status
		page   string
		err    error
		want   string
	}{
		{"the oldest resource", denied, metricsPage, nil, "View:        on cp at most 62 s old (nodes)\n"},
		{"service accounts are the oldest", denied, strings.ReplaceAll(metricsPage, "seconds 12", "seconds 120"), nil,
			"View:        on cp at most 120 s old (serviceaccounts)\n"},
		{"no right", denied, "", errors.New("forbidden"), "View:        age on cp unknown: forbidden\n"},
		{"no metric", denied, "up 1\n", nil, "View:        age on cp unknown: node-authorizer has no metric"},
		{"not metrics", denied, "<html>\x00\xff", nil, "View:        age on cp unknown: cannot read the metrics"},
		{"a hostile label", denied, "bulkhead_view_lag_seconds{resource=\"a\\nRule: x\"} 1\n", nil,
			"View:        on cp at most 1 s old (a\ufffdRule: x)\n"},
		{"a negative age", denied, "bulkhead_view_lag_seconds{resource=\"pods\"} -5\n", nil,
			"View:        age on cp unknown: node-authorizer has no metric"},
		{"RBAC decided", status{Allowed: true, Reason: "RBAC: allowed"}, metricsPage, nil, ""},
		{"in-tree Node decided", status{Allowed: true}, metricsPage, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			asker := Asker{Client: cluster(row.status, host("cp", controlPlaneLabel), host("worker-1")),
				Metrics: func(_ context.Context, host string) ([]byte, error) {
					if host != "cp" {
						t.Errorf("host %s was asked", host)
					}
					return []byte(row.page), row.err
				}}
			a, err := asker.Ask(context.Background(), request(t, "system:node:worker-1", "get", "secrets", "default", "tls"))
			if err != nil {
				t.Fatal(err)
			}
			text := printed(t, a)
			if row.want == "" && strings.Contains(text, "View:") || !strings.Contains(text, row.want) {
				t.Errorf("want %q in\n%s", row.want, text)
			}
		})
	}
}

func FuzzMetricsPage(f *testing.F) {
	f.Add([]byte(metricsPage))
	f.Add([]byte("bulkhead_view_lag_seconds{resource=\"pods\"} NaN\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		age, err := oldest(page)
		if err == nil && !(age.Seconds >= 0) {
			t.Errorf("age %v", age)
		}
	})
}
