// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// touched are the resources that nodes may access, each with the rule that refuses an unknown verb.
var touched = map[schema.GroupResource]rules.ID{
	{Resource: "secrets"}:                                                  "NA-SECRET-1",
	{Resource: "configmaps"}:                                               "NA-CM-1",
	{Resource: "persistentvolumeclaims"}:                                   "NA-PVC-1",
	{Resource: "persistentvolumes"}:                                        "NA-PV-1",
	{Resource: "serviceaccounts"}:                                          "NA-SA-2",
	{Resource: "nodes"}:                                                    "NA-NODE-2",
	{Resource: "endpoints"}:                                                "NA-UNI-ENDPOINTS",
	{Resource: "pods"}:                                                     "NA-POD-3",
	{Resource: "services"}:                                                 "NA-UNI-SERVICES",
	{Resource: "events"}:                                                   "NA-UNI-EVENTS",
	{Group: "events.k8s.io", Resource: "events"}:                           "NA-UNI-EVENTS",
	{Group: "coordination.k8s.io", Resource: "leases"}:                     "NA-LEASE-3",
	{Group: "storage.k8s.io", Resource: "csinodes"}:                        "NA-CSINODE-1",
	{Group: "storage.k8s.io", Resource: "csidrivers"}:                      "NA-UNI-CSIDRIVERS",
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:               "NA-VA-1",
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:                 "NA-CLAIM-1",
	{Group: "resource.k8s.io", Resource: "resourceslices"}:                 "NA-SLICE-1",
	{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}:     "NA-PCR-1",
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: "NA-UNI-CERTIFICATESIGNINGREQUESTS",
	{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:        "NA-UNI-CLUSTERTRUSTBUNDLES",
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:                     "NA-UNI-RUNTIMECLASSES",
	{Group: "authentication.k8s.io", Resource: "tokenreviews"}:             "NA-UNI-TOKENREVIEWS",
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}:       "NA-PASS-2",
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}:      "NA-UNI-SUBJECTACCESSREVIEWS",
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: "NA-UNI-LOCALSUBJECTACCESSREVIEWS",
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}:  "NA-PASS-2",
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}:   "NA-PASS-2",
}

// A resource must match exactly, by group and name. All requests for any other resource are
// refused.
func TestNodesTouchTheseResourcesAndNoOthers(t *testing.T) {
	groups, resources := map[string]bool{"apps": true}, map[string]bool{"": true, "*": true, "deployments": true}
	for known := range touched {
		for _, spelling := range []string{"%", "x%", "%x", "%/"} {
			groups[strings.ReplaceAll(spelling, "%", known.Group)] = true
			resources[strings.ReplaceAll(spelling, "%", known.Resource)] = true
		}
		groups[strings.ToUpper(known.Group)] = true
		resources[strings.ToUpper(known.Resource)] = true
		resources[known.Resource[:len(known.Resource)-1]] = true
	}
	z := newIn(Strict, DefaultFeatures())
	for group := range groups {
		for resource := range resources {
			want, isTouched := touched[schema.GroupResource{Group: group, Resource: resource}]
			if !isTouched {
				want = nothingElse.ID
			}
			a := complete(request{Verb: "frobnicate", APIGroup: group, Resource: resource, Namespace: "ns", Name: "x"})
			_, reason, _ := z.Authorize(t.Context(), a)
			if got, _ := rules.FromReason(reason); got != want {
				t.Errorf("group %q, resource %q: %q, want %s", group, resource, reason, want)
			}
		}
	}
}
