// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// metricsWith are the metrics of a kube-apiserver, with one line in the middle.
func metricsWith(line string) string {
	return "# HELP serviceaccount_stale_tokens_total [BETA] Cumulative stale projected service account tokens used\n" +
		"# TYPE serviceaccount_stale_tokens_total counter\n" + line + "\nserviceaccount_valid_tokens_total 7\n"
}

func TestStaleTokens(t *testing.T) {
	for _, tt := range []struct {
		name     string
		exact    bool
		flags    flags
		metrics  string
		failure  error
		level    Level
		mentions string
	}{
		{"no stale token", true, kubeadmFlags(), metricsWith(staleTokens + " 0"), nil, OK, "since this API server started"},
		{"a stale token", true, kubeadmFlags(), metricsWith(staleTokens + " 12"), nil, Fail, "is 12: clients use tokens"},
		{"many stale tokens", true, kubeadmFlags(), metricsWith(staleTokens + " 1.2e+06"), nil, Fail, "is 1200000"},
		{"the flag to keep them is named", true, kubeadmFlags(), metricsWith(staleTokens + " 1"), nil, Fail,
			"`serviceAccountTokens: {extendExpiration: true}`"},
		{"tokens are not extended today", true, kubeadmFlags(extendFlag, "false"), metricsWith(staleTokens + " 12"), nil, OK,
			"nothing changes"},
		{"no such metric", true, kubeadmFlags(), metricsWith(""), nil, Warn, "the server does not have it"},
		{"invalid metric", true, kubeadmFlags(), metricsWith(staleTokens + " x"), nil, Warn, "invalid syntax"},
		{"no metrics", true, kubeadmFlags(), "", errors.New("forbidden"), Warn, "forbidden"},
		{"tokens stay extended", false, kubeadmFlags(), metricsWith(staleTokens + " 12"), nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := staleTokenFindings(t.Context(), Input{Server: tt.flags, ExactTokens: tt.exact,
				Metrics: func(context.Context) (io.ReadCloser, error) {
					return io.NopCloser(strings.NewReader(tt.metrics)), tt.failure
				}})
			if tt.level == "" {
				if len(findings) > 0 || err != nil {
					t.Errorf("got %v, %v", findings, err)
				}
				return
			}
			wantOne(t, findings, err, tt.level, tt.mentions)
		})
	}
}

func TestServerMetricsReadsThePathOfMetrics(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, metricsWith(staleTokens+" 3"))
		}
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := StaleTokens(t.Context(), ServerMetrics(client.Discovery().RESTClient()))
	if got != 3 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
