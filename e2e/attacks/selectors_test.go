// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// tokenOf requests a token of the account of a pod on the node. Like all writes of specs it is a
// dry run, but the API server returns a valid token all the same.
func tokenOf(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, where(e), fixtures.WithToken())
		return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).
			Sub("token").With(fixtures.TokenRequest(pod))
	}
}

const (
	onlySelectedPods   = "can only list/watch pods with spec.nodeName field selector"
	onlySelectedSlices = "can only list/watch/deletecollection resourceslices with nodeName field selector"
)

// T20: attempts to reach more than the node's own objects. They use a selector that is missing,
// forged or for something else, or requests that seem to change nothing (KEP-4601).
var _ = Describe("selectors", func() {
	podsOfOwn := forNode(func(own, _ string) Request { return List(api.Pods).Where("spec.nodeName=" + own) })
	slicesOfOwn := forNode(func(own, _ string) Request {
		return DeleteAll(api.ResourceSlices).Where("spec.nodeName=" + own)
	})

	for _, a := range []attempt{
		{
			name: "listing the pods of all nodes", rule: "NA-POD-2", text: onlySelectedPods,
			attack: plainly(List(api.Pods)), permitted: podsOfOwn,
		},
		{
			name: "watching the pods of all nodes", rule: "NA-POD-2", text: onlySelectedPods,
			attack:    plainly(Watch(api.Pods)),
			permitted: forNode(func(own, _ string) Request { return Watch(api.Pods).Where("spec.nodeName=" + own) }),
		},
		{
			name: "listing the pods of another node", rule: "NA-POD-2", text: onlySelectedPods,
			attack:    forNode(func(_, other string) Request { return List(api.Pods).Where("spec.nodeName=" + other) }),
			permitted: podsOfOwn,
		},
		{
			name: "listing the pods of all nodes but its own", rule: "NA-POD-2", text: onlySelectedPods,
			attack:    forNode(func(own, _ string) Request { return List(api.Pods).Where("spec.nodeName!=" + own) }),
			permitted: podsOfOwn,
		},
		{
			name: "listing pods with its name in the selector of another field", rule: "NA-POD-2", text: onlySelectedPods,
			attack:    forNode(func(own, _ string) Request { return List(api.Pods).Where("status.nominatedNodeName=" + own) }),
			permitted: podsOfOwn,
		},
		{
			name: "listing the secrets of a namespace", rule: "NA-SECRET-2", text: "No Object name found",
			attack:    secretOn(own, func(namespace, _ string) Request { return List(api.Secrets).In(namespace) }),
			permitted: secretOn(own, listSecret),
		},
		{
			name: "listing another node's secret by its name", rule: "NA-SECRET-2", text: unrelated,
			attack: secretOn(other, listSecret), permitted: secretOn(own, listSecret),
		},
		{
			name: "watching another node's secret by its name", rule: "NA-SECRET-2", text: unrelated,
			attack: secretOn(other, watchSecret), permitted: secretOn(own, watchSecret),
		},
		{
			name: "deleting the resource slices of all nodes", rule: "NA-SLICE-3", text: onlySelectedSlices,
			attack: plainly(DeleteAll(api.ResourceSlices)), permitted: slicesOfOwn,
		},
		{
			name: "creating a token of another node's account in a dry run", rule: "NA-SA-2", text: unrelated,
			attack: tokenOf(other), permitted: tokenOf(own),
		},
	} {
		try("T20", a)
	}
})
