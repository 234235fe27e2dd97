// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package certificates_test

import (
	"testing"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func TestCutOff(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer Answer
		want   bool
	}{
		{"a broken call to node-restriction", Answer{Code: 500, Message: "failed to call webhook: use of closed network " +
			"connection", Reason: "[NA-NODE-2]"}, true},
		{"another error", Answer{Code: 500, Message: "etcdserver: request timed out", Reason: "[NA-NODE-2]"}, false},
		{"a denial without a rule", Answer{Code: 403, Message: "forbidden"}, true},
		{"a denial by node-authorizer", Answer{Code: 403, Message: "forbidden [NA-DEFAULT]", Reason: "[NA-DEFAULT]"}, false},
		{"a denial by node-restriction", Answer{Code: 403, Message: "forbidden [NR-LABEL-1]"}, false},
		{"allowed by another authorizer", Answer{Code: 200}, true},
		{"allowed by a rule", Answer{Code: 200, Reason: "[NA-UNI-SERVICES]"}, false},
	} {
		if got := cutOff(tc.answer); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
