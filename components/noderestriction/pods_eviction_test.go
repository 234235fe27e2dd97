// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

func evict(namespace, name string, edits ...func(*attributes)) admission.Attributes {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return write("me", admission.Create, "pods", "eviction", eviction, nil, edits...)
}

func TestPodEviction(t *testing.T) {
	bound := `pods "theirs" is forbidden: node me can only evict pods with spec.nodeName set to itself [NR-POD-8]`
	mine := aPod("default", "mine", "me")
	c := aCluster()
	c.pods["kube-system/mine"] = aPod("kube-system", "mine", "other")
	c.pods["default/pending"] = aPod("default", "pending", "")
	run(t, restrict(c), []row{
		{name: "a node evicts its pod", write: evict("default", "mine")},
		{name: "and no other's", write: evict("default", "theirs"), by: "NR-POD-8", says: bound},
		{name: "nor its namesake elsewhere", write: evict("kube-system", "mine"), by: "NR-POD-8",
			says: `pods "mine" is forbidden: node me can only evict pods with spec.nodeName set to itself [NR-POD-8]`},
		{name: "nor nobody's", write: evict("default", "pending"), by: "NR-POD-8",
			says: `pods "pending" is forbidden: node me can only evict pods with spec.nodeName set to itself [NR-POD-8]`},
		{name: "the address counts, not the body", write: evict("default", "mine", named("theirs")), by: "NR-POD-8",
			says: bound},
		{name: "also where that is the node's own", write: evict("default", "theirs", named("mine"))},
		{name: "without a name there the body counts", write: evict("default", "theirs", named("")), by: "NR-POD-8",
			says: bound},
		{name: "and may be the node's own", write: evict("default", "mine", named(""))},
		{name: "no name at all", write: evict("default", ""), by: "NR-POD-8",
			says: `pods "Unknown" is forbidden: could not determine pod from request data [NR-POD-8]`},
		{name: "a pod that does not exist is a 404", write: evict("default", "gone"), by: "NR-POD-8", code: 404,
			says: `pods "gone" not found [NR-POD-8]`},
		{name: "no other operation", write: write("me", admission.Update, "pods", "eviction", mine, mine), by: "NR-POD-8",
			says: `pods "mine" is forbidden: unexpected operation UPDATE [NR-POD-8]`},
		{name: "nor what is no eviction", write: write("me", admission.Create, "pods", "eviction", mine, nil), by: "NR-POD-8",
			says: `pods "mine" is forbidden: unexpected type *v1.Pod [NR-POD-8]`},
		{name: "nor nothing", write: write("me", admission.Create, "pods", "eviction", nil, nil, in("default"),
			named("mine")), by: "NR-POD-8", says: `pods "mine" is forbidden: unexpected type <nil> [NR-POD-8]`},
	})
	c.err = errors.New("no answer")
	run(t, restrict(c), []row{
		{name: "a pod that is not known is a 403", write: evict("default", "mine"), by: "NR-POD-8",
			says: `pods "mine" is forbidden: no answer [NR-POD-8]`},
	})
}
