// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/utils/ptr"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func forAQuarter(_ context.Context, _ *Env, r *certificatesv1.PodCertificateRequest) {
	r.Spec.MaxExpirationSeconds = ptr.To(int32(7862400))
}

func withRole(_ context.Context, _ *Env, r *certificatesv1.PodCertificateRequest) {
	r.Spec.UnverifiedUserAnnotations = map[string]string{"e2e.bulkhead.dev/role": "admin"}
}

var _ = DescribeTable("the certificate that a node requests for a pod", admit,
	Entry("lifetime and annotations of the pod's volume: admitted", Allows("NR-PCR-7"), certificate()),
	Entry("lifetime of 91 days, without one in the volume: denied", DeniesBeyond("NR-PCR-7", Behind),
		certificate(forAQuarter),
		"does not mount a podCertificate projected volume with the maxExpirationSeconds"),
	Entry("annotation that the volume does not have: denied", DeniesBeyond("NR-PCR-7", Behind), certificate(withRole),
		"does not mount a podCertificate projected volume with the maxExpirationSeconds"),
)
