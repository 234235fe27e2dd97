// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

func resources() *discovery.FakeDiscovery {
	return &discovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true},
			{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}},
			{Name: "nodes", SingularName: "node", Kind: "Node"},
		}},
		{GroupVersion: "coordination.k8s.io/v1", APIResources: []metav1.APIResource{
			{Name: "leases", SingularName: "lease", Kind: "Lease", Namespaced: true}}},
	}}}
}

func TestResolve(t *testing.T) {
	for _, row := range []struct {
		resource, namespace, want, problem string
	}{
		{"secrets", "", "secrets v1 in default", ""},
		{"secret", "n", "secrets v1 in n", ""},
		{"po", "", "pods v1 in default", ""},
		{"pods/status", "n", "pods/status v1 in n", ""},
		{"nodes", "n", "nodes v1 in ", ""},
		{"leases", "n", "leases.coordination.k8s.io v1 in n", ""},
		{"leases.coordination.k8s.io", "n", "leases.coordination.k8s.io v1 in n", ""},
		{"things.example.com", "n", "things.example.com  in n", "has no resource things.example.com"},
	} {
		r := Request{Namespace: row.namespace}
		var problems strings.Builder
		if err := r.Resolve(resources(), row.resource, "default", &problems); err != nil {
			t.Errorf("%s: %v", row.resource, err)
		}
		if got := r.ResourceName() + " " + r.Version + " in " + r.Namespace; got != row.want {
			t.Errorf("%s is %q, want %q", row.resource, got, row.want)
		}
		if !strings.Contains(problems.String(), row.problem) || (row.problem == "") != (problems.Len() == 0) {
			t.Errorf("%s: %q", row.resource, problems.String())
		}
	}
	r := Request{Namespace: "n"}
	if err := r.Resolve(resources(), "/healthz", "default", &strings.Builder{}); err != nil || r.Path != "/healthz" ||
		r.Namespace != "" || r.review().Spec.NonResourceAttributes.Path != "/healthz" {
		t.Errorf("path: %v %+v", err, r)
	}
	if err := r.Resolve(resources(), "", "", &strings.Builder{}); err == nil {
		t.Error("an empty resource is accepted")
	}
}
