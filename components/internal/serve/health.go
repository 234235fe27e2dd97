// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/component-base/metrics"
)

// Check is one condition for readiness. It returns what is missing, or "" if nothing is.
type Check func() (missing string)

// HealthHandler serves probes and scrapers. /livez reports only that the process answers. /readyz
// lists everything that is missing.
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
