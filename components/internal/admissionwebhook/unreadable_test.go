// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

func TestUnreadableReviewsAreCounted(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"kind":`), iotest.ErrReader(errors.New("reset")))
	for _, tt := range []struct {
		name, method, contentType string
		body                      io.Reader
		size                      int64
		want                      string
	}{
		{"another method", http.MethodPut, "application/json", strings.NewReader(reviewOf(nil)), -1, "not-a-review"},
		{"another content type", http.MethodPost, "text/plain", strings.NewReader(reviewOf(nil)), -1, "not-a-review"},
		{"a body that ends early", http.MethodPost, "application/json", broken, -1, "broken-off"},
		{"a large body that ends early", http.MethodPost, "application/json", iotest.ErrReader(errors.New("reset")),
			maxBody + 1, "broken-off"},
		{"no JSON", http.MethodPost, "application/json", strings.NewReader("hunter2"), -1, "undecodable"},
		{"no AdmissionReview", http.MethodPost, "application/json", strings.NewReader("{}"), -1, "undecodable"},
		{"a large body without a uid", http.MethodPost, "application/json", strings.NewReader(strings.Repeat(" ", maxBody+1)),
			-1, "no-uid"},
		{"a review in order", http.MethodPost, "application/json", strings.NewReader(reviewOf(nil)), -1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := testConfig(allowing())
			req := httptest.NewRequestWithContext(t.Context(), tt.method, "/review", tt.body)
			req.Header.Set("Content-Type", tt.contentType)
			req.ContentLength = tt.size
			New(config).ServeHTTP(httptest.NewRecorder(), req)
			want := map[string]float64{}
			if tt.want != "" {
				want[tt.want] = 1
			}
			if diff := cmp.Diff(want, unreadable(t, config.Registry)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// unreadable returns the counts of reviews that could not be read, by result.
func unreadable(t *testing.T, registry metrics.KubeRegistry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "bulkhead_admission_unreadable_reviews_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			counts[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return counts
}

func TestManyUnreadableReviewsAreCountedInsteadOfLogged(t *testing.T) {
	lines := 0
	config := testConfig(allowing())
	config.Logger = funcr.New(func(_, line string) {
		if lines++; strings.Contains(line, "hunter2") {
			t.Errorf("the content is in the log: %s", line)
		}
	}, funcr.Options{})
	h := New(config)
	for range 1000 {
		post(h, `{"hunter2`)
		h.Queue.Drain()
	}
	if lines != webhook.UserLineBurst {
		t.Errorf("%d lines, want %d", lines, webhook.UserLineBurst)
	}
	if n := unreadable(t, config.Registry)["undecodable"]; n != 1000 {
		t.Errorf("%v counted", n)
	}
}
