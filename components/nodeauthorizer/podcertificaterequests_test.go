// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	"k8s.io/apimachinery/pkg/selection"
)

// pcr returns a request for PodCertificateRequests.
func pcr(verb, subresource, name string) request {
	return request{Verb: verb, APIGroup: "certificates.k8s.io", Resource: "podcertificaterequests",
		Subresource: subresource, Namespace: "ns", Name: name}
}

func TestPodCertificateRequests(t *testing.T) { run(t, podCertificateRequestRows()) }

func podCertificateRequestRows() []row {
	const (
		sub      = "nodes may not access the status subresource of PodCertificateRequests [NA-PCR-1]"
		selector = "can only list/watch podcertificaterequests with nodeName field selector [NA-PCR-3]"
		mine     = "my-podcertificaterequest"
	)
	selected := func(verb string, op selection.Operator, value string) request {
		r := pcr(verb, "", "")
		r.FieldSelectorRequirements = selecting("spec.nodeName", op, value)
		return r
	}
	return []row{
		{"the creation of a request may do so", pcr("create", "", ""), allowed, "[NA-PCR-1]"},
		{"the update of its request is refused", pcr("update", "", mine), refused,
			"nodes may not update podcertificaterequests [NA-PCR-1]"},
		{"the deletion of its request is refused", pcr("delete", "", mine), refused,
			"nodes may not delete podcertificaterequests [NA-PCR-1]"},
		{"the deletion of its requests is refused", selected("deletecollection", selection.Equals, "me"), refused,
			"nodes may not deletecollection podcertificaterequests [NA-PCR-1]"},
		{"the status of its request is refused", pcr("get", "status", mine), refused, sub},
		{"the update of its request's status is refused", pcr("update", "status", mine), refused, sub},
		{"its request may get it", pcr("get", "", mine), allowed, "[NA-PCR-2]"},
		{"another's request is refused", pcr("get", "", "other"), refused, unrelated + "[NA-PCR-2]"},
		{"a request without a name is refused", pcr("get", "", ""), refused, "No Object name found [NA-PCR-2]"},
		{"a list of its requests may have it", selected("list", selection.Equals, "me"), allowed, "[NA-PCR-3]"},
		{"a watch of its requests may have it", selected("watch", selection.Equals, "me"), allowed, "[NA-PCR-3]"},
		{"a list of another's requests is refused", selected("list", selection.Equals, "other"), refused, selector},
		{"a watch of all but its requests is refused", selected("watch", selection.NotEquals, "me"), refused, selector},
		{"a list of all requests is refused", pcr("list", "", ""), refused, selector},
		{"a list of its request by name is refused", pcr("list", "", mine), refused, selector},
	}
}

func TestPodCertificateRequestsWhileOff(t *testing.T) {
	runWith(t, Features{}, []row{
		{"the creation of a request is refused", pcr("create", "", ""), refused,
			"no rule allows a node to create podcertificaterequests.certificates.k8s.io [NA-PCR-1]"},
		{"its request is refused", pcr("get", "", "my-podcertificaterequest"), refused,
			"no rule allows a node to get podcertificaterequests.certificates.k8s.io [NA-PCR-1]"},
	})
}
