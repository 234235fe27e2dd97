// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	webhookName  = "node-restriction.bulkhead.static.k8s.io"
	webhookFiles = "/etc/kubernetes/bulkhead/apiserver/"
	webhookURL   = "https://127.0.0.1:10463/review"
	withoutKey   = "curl -sS --max-time 20 --cacert " + webhookFiles + "node-authorizer-ca.crt"
	withKey      = withoutKey + " --cert " + webhookFiles + "node-authorizer-client.crt --key " + webhookFiles +
		"node-authorizer-client.key"
)

// review returns a review as the API server sends it. In it, a node creates the Node of the given
// name. The tweaks replace parts of the text.
func review(node string, tweaks ...string) string {
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"e2e",` +
		`"kind":{"group":"","version":"v1","kind":"Node"},"resource":{"group":"","version":"v1","resource":"nodes"},` +
		`"name":"` + node + `","operation":"CREATE","userInfo":{"username":"system:node:e2e-any",` +
		`"groups":["system:nodes"]},` +
		`"object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + node + `"}},"oldObject":null,"dryRun":true}}`
	return strings.NewReplacer(tweaks...).Replace(body)
}

// post sends a body to the webhook from the control-plane host, with the API server's credentials.
// It returns the status code and the answer.
func post(ctx context.Context, body string) (code string, answer admissionv1.AdmissionReview, text string) {
	GinkgoHelper()
	// curl exits with 92 if the answer arrives before all of the body was read.
	out := suite.OnControlPlane(ctx,
		withKey+` -H 'Content-Type: application/json' --data-binary @- -w '\n%{http_code}' `+webhookURL+
			" <<'END-OF-BODY' || test $? -eq 92\n"+body+"\nEND-OF-BODY\n")
	end := strings.LastIndexByte(out, '\n')
	text, code = out[:max(end, 0)], out[end+1:]
	if code == "200" && text != "" {
		Expect(json.Unmarshal([]byte(text), &answer)).To(Succeed(), text)
	}
	return code, answer, text
}

func expectAdmitted(ctx context.Context, body string) {
	GinkgoHelper()
	code, answer, text := post(ctx, body)
	Expect(code).To(Equal("200"), text)
	Expect(answer.Response).NotTo(BeNil(), text)
	Expect(answer.Response.Allowed).To(BeTrue(), text)
}

// expectForbidden expects a denial whose message ends with the text.
func expectForbidden(ctx context.Context, body, end string) {
	GinkgoHelper()
	code, answer, text := post(ctx, body)
	Expect(code).To(Equal("200"), text)
	Expect(answer.Response).NotTo(BeNil(), text)
	Expect(answer.Response.Allowed).To(BeFalse(), text)
	Expect(answer.Response.Result.Code).To(BeEquivalentTo(http.StatusForbidden), text)
	Expect(answer.Response.Result.Message).To(HaveSuffix(end), text)
}

var _ = Describe("node-restriction's endpoint", Label(OnHost), func() {
	BeforeEach(func() { suite.SkipOnInTree("there is no webhook") })

	It("admits a valid review", Allows("NR-NODE-1"), func(ctx SpecContext) {
		expectAdmitted(ctx, review("e2e-any"))
	})

	It("rejects the same review for another node", Denies("NR-NODE-1"), func(ctx SpecContext) {
		expectForbidden(ctx, review("e2e-another"), "[NR-NODE-1]")
	})

	DescribeTable("does not admit", Denies("NR-IDENT-1"),
		func(ctx SpecContext, body func() string) {
			code, answer, text := post(ctx, body())
			Expect(code).To(MatchRegexp("^(200|4..)$"), text)
			Expect(answer.Response == nil || !answer.Response.Allowed).To(BeTrue(), text)
		},
		Entry("an empty body", func() string { return "" }),
		Entry("half a review", func() string { good := review("e2e-any"); return good[:len(good)/2] }),
		Entry("a review without a request",
			func() string { return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}` }),
		Entry("an unknown version", func() string { return review("e2e-any", "admission.k8s.io/v1", "admission.k8s.io/v9") }),
		Entry("a creation of nothing", func() string {
			return review("e2e-any", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"e2e-any"}}`, "null")
		}),
		Entry("an object of another kind", func() string {
			return review("e2e-any", `"apiVersion":"v1","kind":"Node"`, `"apiVersion":"v1","kind":"Pod"`)
		}),
		Entry("an update from nothing", func() string { return review("e2e-any", "CREATE", "UPDATE") }),
		Entry("a deletion of nothing", func() string { return review("e2e-any", "CREATE", "DELETE") }),
		Entry("a name of three megabytes", func() string { return review(strings.Repeat("x", 3<<20)) }),
	)

	It("rejects a review of ten megabytes without reading it", Denies("NR-LIMIT"), func(ctx SpecContext) {
		count := func() float64 {
			return must(suite.RestrictionMetric(ctx, "bulkhead_admission_reviews_total", `rule="NR-LIMIT"`))
		}
		before := count()
		code, answer, text := post(ctx,
			review("e2e-any", `"metadata":{`, `"metadata":{"annotations":{"big":"`+strings.Repeat("x", 10<<20)+`"},`))
		Expect(code).To(Equal("200"), text)
		if text != "" { // curl may print only the status code
			Expect(answer.Response).NotTo(BeNil(), text)
			Expect(answer.Response.Allowed).To(BeFalse(), text)
			Expect(answer.Response.Result.Message).To(ContainSubstring("[NR-LIMIT]"), text)
		}
		Expect(count()).To(BeNumerically(">", before), "the answer was: "+text)
	})

	It("reads a review of one megabyte", Allows("NR-LIMIT"), func(ctx SpecContext) {
		code, answer, text := post(ctx,
			review("e2e-any", `"metadata":{`, `"metadata":{"labels":{"big":"`+strings.Repeat("x", 1<<20)+`"},`))
		Expect(code).To(Equal("200"), text)
		Expect(answer.Response).NotTo(BeNil(), text)
		Expect(answer.Response.Allowed).To(Equal(suite.Settings.Profile == Parity), text)
	})

	DescribeTable("rejects", Denies("NR-IDENT-1"),
		func(ctx SpecContext, options string) {
			_, err := suite.Host.Run(ctx, suite.ControlPlane, withoutKey+" "+options+" "+webhookURL)
			Expect(err).To(HaveOccurred(), "the handshake succeeded")
		},
		Entry("a caller without a certificate", ""),
		Entry("a kubelet", "--cert /var/lib/kubelet/pki/kubelet-client-current.pem --key "+
			"/var/lib/kubelet/pki/kubelet-client-current.pem"),
	)
})

// The registration is a file on the hosts' disks (KEP-5793), so a user with all rights in the API
// cannot remove it.
var _ = It("the webhook cannot be removed through the API", Denies("NR-EVENT-2"), Label(OnHardened),
	func(ctx SpecContext) {
		registrations := suite.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		err := registrations.Delete(ctx, webhookName, metav1.DeleteOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		err = registrations.DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=bulkhead"})
		Expect(err).NotTo(HaveOccurred())
		admit(ctx, newEvent(other), ownObjects)
	})
