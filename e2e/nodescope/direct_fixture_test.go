// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// askedItself posts a body to the authorizer for node scope, without the API server.
func askedItself(ctx context.Context, body string) authorizationv1.SubjectAccessReviewStatus {
	GinkgoHelper()
	code, text, err := suite.PostScoped(ctx, body)
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(Equal("200"), text)
	answer := authorizationv1.SubjectAccessReview{}
	if text != "" { // curl may print only the status code
		Expect(json.Unmarshal([]byte(text), &answer)).To(Succeed(), text)
	}
	return answer.Status
}

// listsPods returns a review of a list of pods, as the API server sends it. The user has no claims.
func listsPods(user string) string {
	return string(must(json.Marshal(&authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "pods"},
		},
	})))
}

const (
	apiserverFiles = StateDirectory + "/apiserver/"
	// admitScoped and admitNode are the two webhook endpoints of node-restriction.
	admitScoped = "https://127.0.0.1:10463/node-scope"
	admitNode   = "https://127.0.0.1:10463/review"
	postReview  = "curl -sS --fail --max-time 20 --cacert " + apiserverFiles + "node-authorizer-ca.crt --cert " +
		apiserverFiles +
		"node-authorizer-client.crt --key " + apiserverFiles +
		"node-authorizer-client.key -H 'Content-Type: application/json' --data-binary @- "
)

// write is a write that admission reviews. before is nil for a creation, and after is nil for a
// deletion.
type write struct {
	kind, resource string
	name           string
	before, after  any
}

func (w write) operation() admissionv1.Operation {
	switch {
	case w.before == nil:
		return admissionv1.Create
	case w.after == nil:
		return admissionv1.Delete
	}
	return admissionv1.Update
}

// reviewed posts a write of who to one of the endpoints, without the API server and its
// authorizers.
func reviewed(ctx context.Context, entry string, who Bearer, w write) *admissionv1.AdmissionResponse {
	GinkgoHelper()
	request := &admissionv1.AdmissionRequest{
		UID: "e2e", Kind: metav1.GroupVersionKind{Version: "v1", Kind: w.kind},
		Resource:  metav1.GroupVersionResource{Version: "v1", Resource: w.resource},
		Namespace: stage.Namespace, Name: w.name, Operation: w.operation(), DryRun: ptr.To(true),
		UserInfo: authenticationv1.UserInfo{Username: who.User, Groups: who.Groups},
		Object:   w.encoded(w.after), OldObject: w.encoded(w.before),
	}
	for key, values := range who.Extra {
		if request.UserInfo.Extra == nil {
			request.UserInfo.Extra = map[string]authenticationv1.ExtraValue{}
		}
		request.UserInfo.Extra[key] = values
	}
	body := must(json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request,
	}))
	out := suite.OnControlPlane(ctx, postReview+entry+" <<'END-OF-BODY'\n"+string(body)+"\nEND-OF-BODY\n")
	answer := admissionv1.AdmissionReview{}
	Expect(json.Unmarshal([]byte(out), &answer)).To(Succeed(), out)
	Expect(answer.Response).NotTo(BeNil(), out)
	return answer.Response
}

// encoded adds apiVersion and kind to the object, which the Go type does not have.
func (w write) encoded(object any) runtime.RawExtension {
	GinkgoHelper()
	if object == nil {
		return runtime.RawExtension{}
	}
	text := fields{}
	Expect(json.Unmarshal(must(json.Marshal(object)), &text)).To(Succeed())
	text["apiVersion"], text["kind"] = "v1", w.kind
	return runtime.RawExtension{Raw: must(json.Marshal(text))}
}

// expectReview compares the answer with the labels of the spec.
func expectReview(decision *admissionv1.AdmissionResponse) {
	GinkgoHelper()
	claim := ReadClaim(CurrentSpecReport().Labels())
	if claim.Want == Allow {
		Expect(decision.Allowed).To(BeTrue(), "%+v", decision.Result)
		return
	}
	Expect(decision.Allowed).To(BeFalse())
	Expect(decision.Result).NotTo(BeNil())
	Expect(decision.Result.Message).To(ContainSubstring("[" + string(claim.By) + "]"))
}
