// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// firstOfService reports the cluster IP of the API server for a node that had no address.
func firstOfService(ctx context.Context, e *Env) Request {
	service, err := suite.Client.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return first(service.Spec.ClusterIP)(ctx, e)
}

var _ = DescribeTable("the address of a Service", admit,
	Entry("address that no Service has: admitted", Allows("NR-ADDRESS-5"), first("192.0.2.53")),
	Entry("cluster IP of a Service: denied", DeniesBeyond("NR-ADDRESS-5", Behind), firstOfService,
		"of Service default/kubernetes"),
)
