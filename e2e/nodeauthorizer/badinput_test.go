// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	webhookFiles = "/etc/kubernetes/bulkhead/apiserver/node-authorizer-"
	webhookURL   = "https://127.0.0.1:10461/authorize"
	withoutKey   = "curl -sS --max-time 20 --cacert " + webhookFiles + "ca.crt"
	withKey      = withoutKey + " --cert " + webhookFiles + "client.crt --key " + webhookFiles + "client.key"
)

// reviewAbout returns a review as the API server sends it, edited by the tweak.
func reviewAbout(tweak func(*authorizationv1.SubjectAccessReview)) string {
	review := &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:node:e2e-any", Groups: []string{"system:nodes", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Version: "v1"},
		},
	}
	tweak(review)
	data, err := json.Marshal(review)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// selecting returns a review of a list of pods with these requirements.
func selecting(requirements ...metav1.FieldSelectorRequirement) string {
	return reviewAbout(func(r *authorizationv1.SubjectAccessReview) {
		r.Spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: requirements}
	})
}

func nodeNameIn(values ...string) metav1.FieldSelectorRequirement {
	return metav1.FieldSelectorRequirement{Key: "spec.nodeName", Operator: metav1.FieldSelectorOpIn, Values: values}
}

// post sends a body to the webhook from the control-plane host, with the API server's credentials.
// It returns the status code and the answer.
func post(ctx context.Context, body string) (code string, answer authorizationv1.SubjectAccessReview, text string) {
	GinkgoHelper()
	// curl exits with 92 if the answer arrives before all of the body was read. It then prints only
	// the status code. The specs of NA-LIMIT cover what the API server's own client receives.
	script := withKey + ` -H 'Content-Type: application/json' --data-binary @- -w '\n%{http_code}' ` + webhookURL +
		" <<'END-OF-BODY' || test $? -eq 92\n" + body + "\nEND-OF-BODY\n"
	out := suite.OnControlPlane(ctx, script)
	end := strings.LastIndexByte(out, '\n')
	text, code = out[:max(end, 0)], out[end+1:]
	if code == "200" && text != "" {
		Expect(json.Unmarshal([]byte(text), &answer)).To(Succeed(), text)
	}
	return code, answer, text
}

var _ = Describe("node-authorizer's endpoint", Label(OnHost), func() {
	var process string

	BeforeEach(func(ctx SpecContext) {
		suite.SkipOnInTree("there is no webhook")
		process = suite.ComponentProcess(ctx)
	})

	AfterEach(func(ctx SpecContext) {
		if process != "" {
			Expect(suite.ComponentProcess(ctx)).To(Equal(process), "the process was restarted")
		}
	})

	It("answers a valid review", AllowsBy("NA-DEFAULT", "NA-POD-2"), func(ctx SpecContext) {
		code, answer, text := post(ctx, selecting(nodeNameIn("e2e-any")))
		Expect(code).To(Equal("200"), text)
		Expect(answer.Status.Allowed).To(BeTrue(), text)
		Expect(answer.Status.Reason).To(Equal("[NA-POD-2]"))
	})

	DescribeTable("rejects", Denies("NA-DEFAULT"),
		func(ctx SpecContext, body func() string) {
			code, _, text := post(ctx, body())
			Expect(code).To(MatchRegexp("^4..$"), text)
			Expect(text).NotTo(BeEmpty(), "a refusal without a word of why")
		},
		Entry("an empty body", func() string { return "" }),
		Entry("half a review", func() string { good := selecting(); return good[:len(good)/2] }),
		Entry("a body that is not JSON", func() string { return "kind: SubjectAccessReview" }),
		Entry("twenty thousand levels of nesting", func() string {
			const levels = 20_000
			return `{"unknown":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
		}),
		Entry("an unknown version", func() string {
			return reviewAbout(func(r *authorizationv1.SubjectAccessReview) { r.APIVersion = "authorization.k8s.io/v9" })
		}),
		Entry("another kind", func() string {
			return reviewAbout(func(r *authorizationv1.SubjectAccessReview) { r.Kind = "Pod" })
		}),
	)

	DescribeTable("does not allow", Denies("NA-DEFAULT"),
		func(ctx SpecContext, body func() string) {
			code, answer, text := post(ctx, body())
			Expect(code).To(MatchRegexp("^(200|4..)$"), text)
			Expect(answer.Status.Allowed).To(BeFalse(), text)
		},
		Entry("a review of four megabytes", func() string {
			return reviewAbout(func(r *authorizationv1.SubjectAccessReview) { r.Spec.User = strings.Repeat("x", 4<<20) })
		}),
		Entry("a review without attributes", func() string {
			return reviewAbout(func(r *authorizationv1.SubjectAccessReview) { r.Spec.ResourceAttributes = nil })
		}),
		Entry("a review about a resource and a path at once", func() string {
			return reviewAbout(func(r *authorizationv1.SubjectAccessReview) {
				r.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/version"}
			})
		}),
		Entry("a selector with several values", func() string { return selecting(nodeNameIn("e2e-any", "e2e-another")) }),
		Entry("a selector with no value", func() string { return selecting(nodeNameIn()) }),
		Entry("a raw selector", func() string {
			return reviewAbout(func(r *authorizationv1.SubjectAccessReview) {
				r.Spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{
					RawSelector: "spec.nodeName=e2e-any",
				}
			})
		}),
		Entry("ten thousand requirements for other nodes", func() string {
			const many = 10_000
			all := make([]metav1.FieldSelectorRequirement, many)
			for i := range all {
				all[i] = nodeNameIn(fmt.Sprintf("n%d", i))
			}
			return selecting(all...)
		}),
		Entry("a node name with invalid characters", func() string {
			return reviewAbout(func(r *authorizationv1.SubjectAccessReview) {
				r.Spec.User = "system:node:../\x00\n'\"{}\u202e"
				r.Spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{
					Requirements: []metav1.FieldSelectorRequirement{nodeNameIn("e2e-any")},
				}
			})
		}),
	)

	It("rejects callers without the API server's certificate", Denies("NA-DEFAULT"), func(ctx SpecContext) {
		out, err := suite.Host.Run(ctx, suite.ControlPlane, withoutKey+" "+webhookURL)
		Expect(err).To(HaveOccurred(), out)
	})

	It("is not reachable from other hosts", Denies("NA-DEFAULT"), Label(OnWorker), func(ctx SpecContext) {
		address := suite.OnControlPlane(ctx, "hostname -I | cut -d' ' -f1")
		out, err := suite.Host.Run(ctx, suite.Worker, "curl -sSk --max-time 5 https://"+address+":10461/authorize")
		Expect(err).To(MatchError(ContainSubstring("onnect")), out)
	})
})
