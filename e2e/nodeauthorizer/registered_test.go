// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// unregistered creates a pod with a secret and a token that is bound to the Env's own node. The
// node has no Node object.
func unregistered(question func(*corev1.Pod) Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := fixtures.Pod(e.Namespace(ctx), e.NewName("pod"), e.Own, fixtures.WithSecret(onlySecret), fixtures.WithToken())
		e.Put(ctx, fixtures.Secret(pod.Namespace, onlySecret), pod)
		return question(pod)
	}
}

// alsoRegistered is the same with a Node object.
func alsoRegistered(question func(*corev1.Pod) Request) RequestFunc {
	return whenRegistered(unregistered(question))
}

const onlySecret = "only"

func itsSecret(pod *corev1.Pod) Request {
	return Get(api.Secrets).In(pod.Namespace).Named(onlySecret)
}

func itsToken(pod *corev1.Pod) Request {
	return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).Sub("token").With(
		fixtures.TokenRequest(pod))
}

func itself(r Request) func(*corev1.Pod) Request {
	return func(pod *corev1.Pod) Request { return r.In(pod.Namespace).Named(pod.Name) }
}

func itsEviction(pod *corev1.Pod) Request { return eviction(pod.Namespace, pod.Name) }

// neverRegistered is a request function of a node without a Node object.
var neverRegistered = unregistered(itsSecret)

var _ = DescribeTable("a node without a Node object", decide,
	Entry("does not get a secret of a pod that is bound to it", DeniesBeyond("NA-NODE-4", "NA-SECRET-1"), neverRegistered),
	Entry("with a Node object, gets a secret of a pod that is bound to it", AllowsBy("NA-NODE-4", "NA-SECRET-1"),
		alsoRegistered(itsSecret)),
	Entry("does not get a pod that is bound to it", DeniesBeyond("NA-NODE-4", "NA-POD-1"),
		unregistered(itself(Get(api.Pods)))),
	Entry("with a Node object, gets a pod that is bound to it", AllowsBy("NA-NODE-4", "NA-POD-1"),
		alsoRegistered(itself(Get(api.Pods)))),
	Entry("creates no token", DeniesBeyond("NA-NODE-4", "NA-SA-2"), unregistered(itsToken)),
	Entry("with a Node object, creates tokens", AllowsBy("NA-NODE-4", "NA-SA-2"), alsoRegistered(itsToken)),
	// Admission would reject such a pod, so the spec makes only an access review.
	Entry("creates no pod", DeniesBeyond("NA-NODE-4", "NA-POD-3"), plainly(Ask("create", api.Pods).In("default"))),
	Entry("with a Node object, creates mirror pods", AllowsBy("NA-NODE-4", "NA-POD-3"), mirrorPod),
	Entry("deletes no pod", DeniesBeyond("NA-NODE-4", "NA-POD-3"), unregistered(itself(Delete(api.Pods)))),
	Entry("with a Node object, deletes pods", AllowsBy("NA-NODE-4", "NA-POD-3"), alsoRegistered(itself(Delete(api.Pods)))),
	Entry("reports no pod's status", DeniesBeyond("NA-NODE-4", "NA-POD-4"),
		unregistered(itself(Patch(api.Pods).Sub("status")))),
	Entry("with a Node object, reports a pod's status", AllowsBy("NA-NODE-4", "NA-POD-4"),
		alsoRegistered(itself(Patch(api.Pods).Sub("status")))),
	Entry("evicts no pod", DeniesBeyond("NA-NODE-4", "NA-POD-5"), unregistered(itsEviction)),
	Entry("with a Node object, evicts pods", AllowsBy("NA-NODE-4", "NA-POD-5"), alsoRegistered(itsEviction)),
	Entry("writes no event", DeniesBeyond("NA-NODE-4", "NA-UNI-EVENTS"), nodeEvent),
	Entry("with a Node object, writes events", AllowsBy("NA-NODE-4", "NA-UNI-EVENTS"), whenRegistered(nodeEvent)),
)

// The requests that a kubelet needs before it creates its Node object, and to create it.
var _ = DescribeTable("a node without a Node object yet", decide,
	Entry("reads what all nodes read", AllowsBy("NA-NODE-4", "NA-UNI-SERVICES"), plainly(List(api.Services))),
	Entry("creates its Node object", AllowsBy("NA-NODE-4", "NA-NODE-2"),
		forNode(own, func(node string) Request { return Create(api.Nodes).With(fixtures.Node(node)) })),
	Entry("gets its Node object", AllowsBy("NA-NODE-4", "NA-NODE-1"), nodeNamed(own, Get(api.Nodes).OrMissing())),
	Entry("lists the pods that are bound to it", AllowsBy("NA-NODE-4", "NA-POD-2"), podsOf(own, List(api.Pods))),
	Entry("creates its lease", AllowsBy("NA-NODE-4", "NA-LEASE-1"),
		writtenLeaseOf(own, fixtures.LeaseNamespace, Create(api.Leases))),
	Entry("creates its CSINode", AllowsBy("NA-NODE-4", "NA-CSINODE-1"),
		forNode(own, func(node string) Request { return Create(api.CSINodes).With(fixtures.CSINode(node)) })),
	Entry("reads its certificate signing request", AllowsBy("NA-NODE-4", uniformRequests),
		signingRequestOf(own, named(Get(api.CertificateSigningRequests)))),
)
