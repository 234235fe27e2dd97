// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// tier is the label that the third party protects.
const tier = "example.com/tier"

var _ = tell(Story{
	ID: "T11", Title: "A node changes its labels behind the back of an admission policy, through its status",
	Source: "CVE-2021-25735 (kubernetes/kubernetes#100096)",
	Effect: "An admission policy or webhook of a third party compares old and new labels when a Node is updated. " +
		"The node changes the label through nodes/status, which the policy does not cover.",
	Stops: "The rules on labels apply to every write of a node to its Node, also through the status.",
	Attempts: []Attempt{deceived, {
		Name: "changing a protected label through nodes/status", Effect: "the label has changed in spite of the policy",
		By: machine, Rule: "NR-LABEL-2", Text: tier,
		Prepare: func(ctx context.Context, r *Run) {
			r.Node = r.Env.Node(ctx, r.Own)
			thirdParty(ctx, r)
		},
		Attack: sends(func(r *Run) Request {
			return Patch(api.Nodes).Named(r.Own).Sub("status").With(labels(tier, "gold")).Stored()
		}),
		Show: func(ctx context.Context, r *Run, _ Answer) {
			node, err := r.Client.CoreV1().Nodes().Get(ctx, r.Own, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(node.Labels).To(HaveKeyWithValue(tier, "gold"))
			r.Say("The Node has the label %s=gold.", tier)
		},
		TwinIs: "the label of the instance type",
		Twin: sends(func(r *Run) Request {
			return Patch(api.Nodes).Named(r.Own).Sub("status").With(labels(corev1.LabelInstanceTypeStable, "big"))
		}),
	}},
})

// deceived is the form of the CVE: a webhook decides by the old object, which the node has changed before.
var deceived = Attempt{
	Name:   "removing the label by which a webhook decides, through nodes/status",
	Effect: "the webhook admits what it denied before",
	By:     machine, Rule: "NR-LABEL-2", Text: tier, Labels: Label(OnHost),
	Prepare: func(ctx context.Context, r *Run) {
		r.Node = r.Env.Node(ctx, r.Own)
		guards(ctx, r)
	},
	Attack: sends(func(r *Run) Request {
		return Patch(api.Nodes).Named(r.Own).Sub("status").With(labels(tier, nil)).Stored()
	}),
	Show: func(ctx context.Context, r *Run, _ Answer) {
		answer := r.Send(ctx, r.Who, resized(r).Stored())
		Expect(answer.Code).To(Equal(http.StatusOK), answer.Message)
	},
	TwinIs: "the label of the instance type through the status",
	Twin: sends(func(r *Run) Request {
		return Patch(api.Nodes).Named(r.Own).Sub("status").With(labels(corev1.LabelInstanceTypeStable, "big"))
	}),
}

// resized changes the Node in a way that the webhook of [guards] denies.
func resized(r *Run) Request {
	return Patch(api.Nodes).Named(r.Own).With(labels(corev1.LabelInstanceTypeStable, "big"))
}

// guards gives the Node of the spec the label, starts the webhook of a third party, which denies every
// change of a Node with the label, and waits until it does.
func guards(ctx context.Context, r *Run) {
	GinkgoHelper()
	server := serves(ctx, r, "-guard="+tier)
	must(r.Client.CoreV1().Nodes().Patch(ctx, r.Own, types.MergePatchType, must(json.Marshal(labels(tier, "gold"))),
		metav1.PatchOptions{}))
	r.Put(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: r.NewName("e2e-guard")},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "guard.example.com", FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: ptr.To("https://" + server.Address + "/"), CABundle: server.CA},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"nodes"}}}},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "own", Expression: fmt.Sprintf("request.name == %q", r.Own)}},
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
	Eventually(ctx, func() (string, error) {
		_, message, err := suite.AsAdmin().Send(ctx, resized(r))
		return message, err
	}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(ContainSubstring("this object is guarded"))
	r.Say("The webhook of a third party denies every change of a Node with the label %s, also to the administrator.", tier)
}

// thirdParty creates an admission policy that forbids changes of the label, for the Node of the spec,
// and waits until it denies the direct way.
func thirdParty(ctx context.Context, r *Run) {
	GinkgoHelper()
	name := r.NewName("e2e-tier")
	r.Put(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					ResourceNames: []string{r.Own},
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
							Resources: []string{"nodes"}},
					}}}},
			Validations: []admissionregistrationv1.Validation{{
				Message: "the tier of a node does not change",
				Expression: fmt.Sprintf("object.metadata.?labels[?%[1]q].orValue('') == "+
					"oldObject.metadata.?labels[?%[1]q].orValue('')", tier),
			}},
		},
	}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
	})
	direct := Patch(api.Nodes).Named(r.Own).With(labels(tier, "gold"))
	Eventually(ctx, func() (string, error) {
		_, message, err := suite.AsAdmin().Send(ctx, direct)
		return message, err
	}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(ContainSubstring("the tier of a node does not change"))
	r.Say("The policy of a third party denies a change of the label, also to the administrator: %d.",
		http.StatusUnprocessableEntity)
}
