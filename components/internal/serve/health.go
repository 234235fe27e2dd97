// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/component-base/metrics"
)

// Check is one condition of being ready. It says what is missing, or nothing.
type Check func() (missing string)

// HealthHandler answers probes and scrapers. /livez says only that the process
// answers; /readyz names everything that is missing.
func HealthHandler(checks []Check, registry metrics.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if missing := unmet(checks); len(missing) > 0 {
			http.Error(w, "not ready: "+strings.Join(missing, ", "), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", metrics.HandlerFor(registry, metrics.HandlerOpts{}))
	return mux
}

func unmet(checks []Check) []string {
	var all []string
	for _, check := range checks {
		if missing := check(); missing != "" {
			all = append(all, missing)
		}
	}
	return all
}
