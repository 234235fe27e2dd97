// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "testing"

// A request for the metrics of a component needs the same right as /metrics. Only reading is
// allowed.
func TestMetricsOfComponents(t *testing.T) {
	const path = "/metrics/bulkhead/node-authorizer"
	for _, tc := range []struct {
		name      string
		r         Request
		component string
		refused   bool
	}{
		{"GET: allowed", Request{Method: "GET", Path: path}, "node-authorizer", false},
		{"HEAD: allowed", Request{Method: "HEAD", Path: path}, "node-authorizer", false},
		{"POST: denied", Request{Method: "POST", Path: path}, "", true},
		{"get in lower case: denied", Request{Method: "get", Path: path}, "", true},
		{"OPTIONS: denied", Request{Method: "OPTIONS", Path: path}, "", true},
		{"GET with an upgrade: denied", Request{Method: "GET", Path: path, Upgrade: true}, "", true},
		{"POST below: denied", Request{Method: "POST", Path: path + "/x"}, "", true},
		{"GET below: an unknown component", Request{Method: "GET", Path: path + "/x"}, "node-authorizer/x", false},
		{"without a component: the kubelet's", Request{Method: "POST", Path: "/metrics/bulkhead"}, "", false},
		{"with a slash only: the kubelet's", Request{Method: "POST", Path: "/metrics/bulkhead/"}, "", false},
		{"another segment: the kubelet's", Request{Method: "POST", Path: "/metrics/bulkheads/x"}, "", false},
		{"another case: the kubelet's", Request{Method: "POST", Path: "/metrics/Bulkhead/x"}, "", false},
		{"another endpoint: the kubelet's", Request{Method: "POST", Path: "/stats/bulkhead/x"}, "", false},
		{"one segment late: the kubelet's", Request{Method: "POST", Path: "/metrics/a/bulkhead/x"}, "", false},
	} {
		for _, mode := range []Mode{Compat, Strict} {
			got, refusal := mode.Map(tc.r)
			if tc.refused {
				if refusal == nil || refusal.Rule != RuleComponents || refusal.Code != 405 || got.Attempts != nil {
					t.Errorf("%s, %v: %+v, %+v; want a 405 of %s", tc.name, mode, got, refusal, RuleComponents)
				}
				continue
			}
			if refusal != nil || got.Component != tc.component || got.Attempts[0].Subresource == "" {
				t.Errorf("%s, %v: %+v, %+v; want component %q", tc.name, mode, got, refusal, tc.component)
			}
			// All else is as for the same request to /metrics.
			same := tc.r
			if tc.component != "" {
				same.Path = "/metrics"
				want, _ := mode.Map(same)
				if written(got) != written(want) || got.Streams {
					t.Errorf("%s, %v: %s, want %s", tc.name, mode, written(got), written(want))
				}
			}
		}
	}
}
