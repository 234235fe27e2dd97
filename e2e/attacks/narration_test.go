// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func TestAttackEventRecordsRequest(t *testing.T) {
	secret := getSecret("ns", "hidden")
	list := List(api.Pods).Where("spec.nodeName=other")
	for _, tc := range []struct {
		name, verb, uri string
		request         Request
		want            bool
	}{
		{"get", "get", "/api/v1/namespaces/ns/secrets/hidden", secret, true},
		{"get: empty query", "get", "/api/v1/namespaces/ns/secrets/hidden?", secret, true},
		{"get: other name", "get", "/api/v1/namespaces/ns/secrets/other", secret, false},
		{"get: other verb", "delete", "/api/v1/namespaces/ns/secrets/hidden", secret, false},
		{"list", "list", "/api/v1/pods?fieldSelector=spec.nodeName%3Dother", list, true},
		{"list: other selector", "list", "/api/v1/pods?fieldSelector=spec.nodeName%3Down", list, false},
		{"create", "create", "/apis/coordination.k8s.io/v1/namespaces/ns/leases?dryRun=All",
			Create(api.Leases).In("ns").Named("own"), true},
		{"create a subresource", "create", "/api/v1/namespaces/ns/serviceaccounts/plain/token",
			Create(api.ServiceAccounts).In("ns").Named("plain").Sub("token"), true},
		{"path", "get", "/api/v1/nodes/worker:20701/proxy/metrics",
			GetPath("/api/v1/nodes/worker:20701/proxy/metrics"), true},
		{"no URI", "get", "", secret, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			event := auditv1.Event{Verb: tc.verb, RequestURI: tc.uri}
			if got := recordsRequest(event, tc.request); got != tc.want {
				t.Errorf("recordsRequest(%s %s) = %v, want %v", tc.verb, tc.uri, got, tc.want)
			}
		})
	}
}
