// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The names are those of prometheus/client_golang, by which kubelet-auth-proxy's are
// read too.
func TestMetricsHaveTheNamesOfOurs(t *testing.T) {
	recorder := httptest.NewRecorder()
	Health().Handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		"go_gc_heap_allocs_objects_total", "go_gc_heap_allocs_bytes_total", "go_gc_heap_live_bytes",
		"go_gc_cycles_total_gc_cycles_total", "go_memory_classes_heap_stacks_bytes",
	} {
		if !strings.Contains(recorder.Body.String(), want+" ") {
			t.Errorf("%s is not in\n%s", want, recorder.Body)
		}
	}
}
