// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestServiceWith(t *testing.T) {
	const path = "GET /apis/networking.k8s.io/v1/ipaddresses/"
	w := newWorld(t, &api{answer: func(asked string) string {
		switch asked {
		case path + "10.96.0.1":
			return `{"metadata":{"name":"10.96.0.1"},` +
				`"spec":{"parentRef":{"resource":"services","namespace":"default","name":"kubernetes"}}}`
		case path + "10.96.0.2":
			return "404"
		default:
			return "403"
		}
	}})
	if got, err := w.ServiceWith(t.Context(), "10.96.0.1"); err != nil || got != "Service default/kubernetes" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := w.ServiceWith(t.Context(), "10.96.0.2"); err != nil || got != "" {
		t.Errorf("nothing's: %q, %v", got, err)
	}
	if got, err := w.ServiceWith(t.Context(), "2001:db8::1"); err == nil || apierrors.IsForbidden(err) || got != "" {
		t.Errorf("without a right: %q, %v", got, err)
	}
	want := []string{path + "10.96.0.1", path + "10.96.0.2", path + "2001:db8::1"}
	if diff := cmp.Diff(want, w.api.requests()); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
}

// The API server of these tests has no certificate. What is not known must be an error.
func TestAPIServerNeedsItsCertificate(t *testing.T) {
	w := newWorld(t, answers(`{"endpoints":[{"addresses":["192.0.2.1"]}]}`))
	got, err := w.APIServer(t.Context())
	if err == nil || !strings.Contains(err.Error(), "looking at the API server's certificate") {
		t.Errorf("%q, %v", got, err)
	}
	const want = "GET /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
	if asked := w.api.requests(); len(asked) == 0 || asked[0] != want {
		t.Errorf("asked %q", asked)
	}
}
