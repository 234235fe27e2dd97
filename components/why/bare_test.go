// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestEveryTextOfTheInTreeAuthorizer has all reasons of plugin/pkg/auth/authorizer/node of Kubernetes
// 1.37, each with one of its rules. components/conformance/why compares the list with that file.
func TestEveryTextOfTheInTreeAuthorizer(t *testing.T) {
	for text, want := range map[string]rules.ID{
		"can only get/update/patch this type":                                              "NA-PVC-2",
		"can only get individual resources of this type":                                   "NA-PV-1",
		"cannot get subresource":                                                           "NA-PV-1",
		"can only read resources of this type":                                             "NA-SECRET-1",
		"cannot read subresource":                                                          "NA-SECRET-1",
		"can only read namespaced object of this type":                                     "NA-SECRET-1",
		"No Object name found":                                                             "NA-SECRET-1",
		"no relationship found between node 'x' and this object":                           "NA-CM-1",
		"not allowed to get service accounts":                                              "NA-SA-1",
		"can only create tokens for individual service accounts":                           "NA-SA-2",
		"can only create token subresource of serviceaccount":                              "NA-SA-2",
		"can only get, create, update, patch, or delete a node lease":                      "NA-LEASE-3",
		`can only access leases in the "kube-node-lease" system namespace`:                 "NA-LEASE-1",
		"can only access node lease with the same name as the requesting node":             "NA-LEASE-3",
		"can only get, create, update, patch, or delete a CSINode":                         "NA-CSINODE-1",
		"CSINode status access requires CSIVolumeHealth feature":                           "NA-CSINODE-2",
		"can only get, update, or patch CSINode status":                                    "NA-CSINODE-2",
		"cannot authorize CSINode subresources":                                            "NA-CSINODE-2",
		"can only access CSINode with the same name as the requesting node":                "NA-CSINODE-2",
		"cannot authorize ResourceSlice subresources":                                      "NA-SLICE-1",
		"can only list/watch/deletecollection resourceslices with nodeName field selector": "NA-SLICE-3",
		"only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, " +
			"deletecollection": "NA-SLICE-1",
		"nodes may not access the status subresource of PodCertificateRequests":   "NA-PCR-1",
		"can only list/watch podcertificaterequests with nodeName field selector": "NA-PCR-3",
		"nodes may not delete podcertificaterequests":                             "NA-PCR-1",
		"node 'x' cannot read all nodes, only its own Node object":                "NA-NODE-1",
		"node 'x' cannot read 'y', only its own Node object":                      "NA-NODE-1",
		"can only list/watch pods with spec.nodeName field selector":              "NA-POD-2",
		"can only update status subresource":                                      "NA-PVC-2",
		`unknown node for user "system:node:"`:                                    "NA-IDENT-1",
		`unknown node for user "system:node:\"x"`:                                 "NA-IDENT-1",
	} {
		if got := inTreeRules(text); !slices.Contains(got, want) {
			t.Errorf("%q is %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "no", "cannot get subresource of this"} {
		if got := inTreeRules(text); len(got) > 0 {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestRulesAboutRelations: each of them names the object that must exist.
func TestRulesAboutRelations(t *testing.T) {
	for id, want := range map[rules.ID]bool{"NA-SECRET-1": true, "NA-SLICE-2": true, "NA-PVC-2": true, "NA-NODE-1": false,
		"NR-LABEL-1": false} {
		r, _ := rulebook.Find(id)
		exception := Full(r, nil).Exception
		if got := len(exception) > 0 && exception[0].Text == anyRelation; got != want {
			t.Errorf("%s: %+v", id, exception)
		}
	}
}
