// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// updateOf returns a review of a node's update of its CSINode, or of a subresource of it. The
// update changes nothing.
func updateOf(subresource string) string {
	GinkgoHelper()
	kind := metav1.GroupVersionKind{Group: api.CSINodes.Group, Version: api.CSINodes.Version, Kind: "CSINode"}
	node := fixtures.CSINode("e2e-any")
	node.APIVersion, node.Kind = api.CSINodes.GroupVersion().String(), kind.Kind
	dryRun := true
	return string(must(json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "e2e", Kind: kind, Resource: metav1.GroupVersionResource(api.CSINodes), SubResource: subresource,
			Name: node.Name, Operation: admissionv1.Update, DryRun: &dryRun,
			UserInfo: authenticationv1.UserInfo{Username: "system:node:e2e-any", Groups: []string{"system:nodes"}},
			Object:   runtime.RawExtension{Object: node}, OldObject: runtime.RawExtension{Object: node},
		},
	})))
}

// withConfigSource returns a review of a node that registers with a source of dynamic
// configuration.
func withConfigSource() string {
	return review("e2e-any", `{"name":"e2e-any"}}`,
		`{"name":"e2e-any"},"spec":{`+
			`"configSource":{"configMap":{"namespace":"default","name":"any","kubeletConfigKey":"kubelet"}}}}`)
}

// This API server drops, or does not serve, the fields of these rules. An API server with other
// feature gates would send them, so the webhook must decide about them.
var _ = Describe("node-restriction's endpoint, for fields that this API server does not send:", Label(OnHost), func() {
	BeforeEach(func() { suite.SkipOnInTree("there is no webhook") })

	It("update of its CSINode: admitted", Allows("NR-CSINODE-2"),
		func(ctx SpecContext) { expectAdmitted(ctx, updateOf("")) })
	It("status of its CSINode, with CSIVolumeHealth off: denied", Denies("NR-CSINODE-2"), func(ctx SpecContext) {
		expectForbidden(ctx, updateOf("status"), "CSIVolumeHealth feature gate is disabled [NR-CSINODE-2]")
	})

	It("registration without a configSource: admitted", Allows("NR-NODE-2"), func(ctx SpecContext) {
		expectAdmitted(ctx, review("e2e-any"))
	})
	It("registration with a configSource: denied", Denies("NR-NODE-2"), func(ctx SpecContext) {
		expectForbidden(ctx, withConfigSource(), "non-nil configSource [NR-NODE-2]")
	})
})
