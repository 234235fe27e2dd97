// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// withProvider registers the scene's own Node with a providerID, while the other Node has that of
// the other.
func withProvider(of place) Story {
	return func(ctx context.Context, s *Scene) Request {
		id := func(name string) string { return "e2e://" + name }
		s.Node(ctx, s.Other)
		patch := must(json.Marshal(spec("providerID", id(s.Other))))
		_, err := suite.Client.CoreV1().Nodes().Patch(ctx, s.Other, types.MergePatchType, patch, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		return registering(func(s *Scene, node *corev1.Node) { node.Spec.ProviderID = id(of(s)) })(ctx, s)
	}
}

var _ = DescribeTable("the machine of a Node", admit,
	Entry("providerID that no Node has: admitted", Allows("NR-NODESPEC-3"), withProvider(own)),
	Entry("providerID of another Node: denied", DeniesBeyond("NR-NODESPEC-3", Behind), withProvider(other),
		"is not allowed to have the providerID of node"),
)
