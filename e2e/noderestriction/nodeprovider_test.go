// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// withProvider registers the Env's own Node with the providerID of the given node. The other Node
// has its own providerID.
func withProvider(of place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		return withMachine(ctx, e, "e2e://"+e.Other, "e2e://"+of(e))
	}
}

// spelled registers the Env's own Node with the providerID own, while the other Node has the
// providerID others. %s stands for the same name in both.
func spelled(others, own string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		id := e.NewName("i")
		return withMachine(ctx, e, fmt.Sprintf(others, id), fmt.Sprintf(own, id))
	}
}

func withMachine(ctx context.Context, e *Env, others, own string) Request {
	GinkgoHelper()
	e.Node(ctx, e.Other)
	patch := must(json.Marshal(spec("providerID", others)))
	_, err := suite.Client.CoreV1().Nodes().Patch(ctx, e.Other, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
	request := registering(func(_ *Env, node *corev1.Node) { node.Spec.ProviderID = own })(ctx, e)
	// If the claim is a denial, it depends on node-restriction's watch of Nodes.
	if expectsDenial() {
		awaitView(ctx, e, request, func(code int, _ string) bool { return code >= http.StatusMultipleChoices })
	}
	return request
}

const othersMachine = "is not allowed to have the providerID of another node"

var _ = DescribeTable("the providerID of a Node", admitCertified,
	Entry("ID that no Node has: allowed", Allows("NR-NODESPEC-3"), withProvider(own)),
	Entry("ID of another Node: denied", DeniesBeyond("NR-NODESPEC-3", Behind), withProvider(other), othersMachine),
	Entry("ID of another Node in capital letters: denied", DeniesBeyond("NR-NODESPEC-3", Behind),
		spelled("e2e:///zone-a/%s", "E2E:///Zone-A/%s"), othersMachine),
	Entry("ID of another Node with a trailing slash: denied", DeniesBeyond("NR-NODESPEC-3", Behind),
		spelled("e2e:///zone-a/%s", "e2e:///zone-a/%s/"), othersMachine),
	Entry("ID of an AWS instance that no Node has: allowed", Allows("NR-NODESPEC-3"),
		spelled("aws:///zone-a/%s", "aws:///zone-a/%s0")),
	Entry("ID of another Node's AWS instance in another zone: denied", DeniesBeyond("NR-NODESPEC-3", Behind),
		spelled("aws:///zone-a/%s", "aws:///zone-b/%s"), othersMachine),
)
