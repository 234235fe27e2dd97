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
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

func TestWhatCannotBeReadIsCounted(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"kind":`), iotest.ErrReader(errors.New("reset")))
	for _, tt := range []struct {
		name, method, contentType string
		body                      io.Reader
		size                      int64
		want                      unreadable
	}{
		{"another method", http.MethodPut, "application/json", strings.NewReader(reviewOf(nil)), -1, notAReview},
		{"another content type", http.MethodPost, "text/plain", strings.NewReader(reviewOf(nil)), -1, notAReview},
		{"a body that ends early", http.MethodPost, "application/json", broken, -1, brokenOff},
		{"a large body that ends early", http.MethodPost, "application/json", iotest.ErrReader(errors.New("reset")),
			maxBody + 1, brokenOff},
		{"no JSON", http.MethodPost, "application/json", strings.NewReader("hunter2"), -1, undecodable},
		{"no AdmissionReview", http.MethodPost, "application/json", strings.NewReader("{}"), -1, undecodable},
		{"a large body without a uid", http.MethodPost, "application/json", strings.NewReader(strings.Repeat(" ", maxBody+1)),
			-1, noUID},
		{"a review in order", http.MethodPost, "application/json", strings.NewReader(reviewOf(nil)), -1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := New(testConfig(allowing()))
			req := httptest.NewRequestWithContext(t.Context(), tt.method, "/review", tt.body)
			req.Header.Set("Content-Type", tt.contentType)
			req.ContentLength = tt.size
			h.ServeHTTP(httptest.NewRecorder(), req)
			for _, result := range []unreadable{notAReview, brokenOff, undecodable, noUID} {
				want := 0.0
				if result == tt.want {
					want = 1
				}
				if got, err := testutil.GetCounterMetricValue(h.metrics.unread.WithLabelValues(string(result))); got != want ||
					err != nil {
					t.Errorf("%v of %s, %v; want %v", got, result, err, want)
				}
			}
		})
	}
}

func TestAFloodOfWhatCannotBeReadIsBounded(t *testing.T) {
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
		h.queue.Drain()
	}
	if lines != webhook.UserLineBurst {
		t.Errorf("%d lines, want %d", lines, webhook.UserLineBurst)
	}
	if n, err := testutil.GetCounterMetricValue(h.metrics.unread.WithLabelValues(string(undecodable))); n != 1000 ||
		err != nil {
		t.Errorf("%v counted, %v", n, err)
	}
}
