// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// forgery is an attack that the authorizers allow, because they do not see the content of a write.
// Admission must reject it.
type forgery struct {
	name string
	rule rules.ID
	text string
	// onlyHardened is true where the rule needs the configuration of hardened.
	onlyHardened bool
	// beside are rights that today's ClusterRole system:node does not have.
	beside            []rbacv1.PolicyRule
	attack, permitted RequestFunc
}

// forge makes the specs of an attack.
func forge(attack string, f forgery) {
	more := Label()
	if f.onlyHardened {
		more = Label(OnHardened)
	}
	Describe(f.name, Attack(attack), more, func() {
		It("succeeds with the rights that nodes had by RBAC", Allows(f.rule), func(ctx SpecContext) {
			who := asRBACOnly(ctx, suite.Env(), f.beside...)
			suite.ExpectWriteClaim(ctx, who, f.attack)
		})
		It("is denied to a node", Denies(f.rule), func(ctx SpecContext) {
			begun, node := time.Now(), suite.AsNode(suite.Env().Own)
			suite.ExpectWriteClaim(ctx, node, f.attack, f.text)
			expectAuditedRefusal(ctx, node, begun)
		})
		It("the same write of the node's own objects is allowed", Allows(f.rule), func(ctx SpecContext) {
			suite.ExpectWriteClaim(ctx, suite.AsNode(suite.Env().Own), f.permitted)
		})
	})
}

// expectAuditedRefusal expects a rejected write of that user in the audit log.
func expectAuditedRefusal(ctx context.Context, who *Identity, since time.Time) {
	GinkgoHelper()
	if why := suite.Host.Missing(); why != "" {
		GinkgoWriter.Println("the audit log was not looked at:", why)
		return
	}
	Eventually(ctx, func() ([]int32, error) {
		events, err := suite.Audited(ctx, since.Add(-time.Second), who.User)
		var codes []int32
		for _, event := range events {
			if event.ResponseStatus != nil {
				codes = append(codes, event.ResponseStatus.Code)
			}
		}
		return codes, err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainElement(int32(403)), "the audit log has the refusal")
}

// statusOf patches the status of a pod on the Env's own node.
func statusOf(patch map[string]any) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, e.Own)
		return Patch(api.Pods).In(pod.Namespace).Named(pod.Name).Sub("status").With(patch)
	}
}

// mirror creates a mirror pod of the Env's own node. The tweaks edit the pod.
func mirror(tweaks ...fixtures.PodTweak) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		all := append([]fixtures.PodTweak{fixtures.Mirror(e.Node(ctx, e.Own))}, tweaks...)
		pod := fixtures.Pod(e.Namespace(ctx), e.NewName("mirror"), e.Own, all...)
		return Create(api.Pods).In(pod.Namespace).With(pod)
	}
}

// itself patches the Env's own Node, or its status.
func itself(subresource string, patch map[string]any) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		return Patch(api.Nodes).Named(e.Own).Sub(subresource).With(patch)
	}
}

type fields = map[string]any

func labels(key, value string) fields {
	return fields{"metadata": fields{"labels": fields{key: value}}}
}

// token requests a token that is bound to a pod on the given node. The Env's own node also has a
// pod of the same account.
func token(where place, audiences ...string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Pod(ctx, e.Own, fixtures.WithToken())
		pod := e.Pod(ctx, where(e), fixtures.WithToken())
		request := fixtures.TokenRequest(pod)
		request.Spec.Audiences = audiences
		return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).Sub("token").With(request)
	}
}

// certificate requests the certificate of a pod on the given node. The request names the Env's
// own node.
func certificate(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, where(e), fixtures.WithCertificate(fixtures.Signer))
		request, err := fixtures.PodCertificateRequest(e.NewName("request"), pod, e.Account(ctx), e.Node(ctx, e.Own))
		Expect(err).NotTo(HaveOccurred())
		return Create(api.PodCertificateRequests).In(request.Namespace).With(request)
	}
}

// signingRequest requests a client certificate in the name of a node.
func signingRequest(where place) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		request, _, err := fixtures.CertificateSigningRequest(
			e.NewName("csr"), certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:"+where(e))
		Expect(err).NotTo(HaveOccurred())
		return Create(api.CertificateSigningRequests).With(request)
	}
}

// claimStatus patches the status of a claim that a pod on the Env's own node uses.
func claimStatus(patch fields) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		claim, volume := e.NewName("claim"), e.NewName("volume")
		e.Put(ctx,
			fixtures.Volume(volume, e.Namespace(ctx), claim, "none"),
			fixtures.Claim(e.Namespace(ctx), claim, volume),
		)
		e.Pod(ctx, e.Own, fixtures.WithClaim(claim))
		return Patch(api.PersistentVolumeClaims).In(e.Namespace(ctx)).Named(claim).Sub("status").With(patch)
	}
}

// T6 to T9, T11 and T17 to T19: writes of a node to its own objects, or to objects that look like
// its own.
var _ = Describe("forgeries", func() {
	well := statusOf(fields{"status": fields{"message": "well"}})
	forge("T6", forgery{
		name: "attracting a Service's traffic by a label in a pod's status", rule: "NR-POD-7",
		text:   "cannot update labels through pod status",
		attack: statusOf(labels("app", "payments")), permitted: well,
	})
	forge("T6", forgery{
		name: "attracting a Service's traffic by a mirror pod's label", rule: "NR-MIRROR-2", onlyHardened: true,
		attack: mirror(func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "payments"} }), permitted: mirror(),
	})
	forge("T7", forgery{
		name: "mounting a config map into a mirror pod", rule: "NR-POD-3", text: "can not create pods that reference",
		attack: mirror(fixtures.WithConfigMap("any")), permitted: mirror(),
	})
	forge("T8", forgery{
		name: "setting an owner of its own Node", rule: "NR-NODE-5", text: "is not allowed to modify ownerReferences",
		attack: itself("", fields{"metadata": fields{"ownerReferences": []any{
			fields{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "gone"},
		}}}),
		permitted: itself("", fields{}),
	})
	forge("T9", forgery{
		name: "setting a node-restriction label on its own Node", rule: "NR-NODE-3", text: "is not allowed to modify labels",
		attack:    itself("", labels("node-restriction.kubernetes.io/dedicated", "payments")),
		permitted: itself("", labels(corev1.LabelInstanceTypeStable, "big")),
	})
	forge("T11", forgery{
		name: "setting a control-plane label through its status", rule: "NR-NODE-3", text: "is not allowed to modify labels",
		attack:    itself("status", labels("node-role.kubernetes.io/control-plane", "")),
		permitted: itself("status", labels(corev1.LabelInstanceTypeStable, "big")),
	})
	forge("T17", forgery{
		name: "creating a token of another node's pod", rule: "NR-SA-3", text: "bound to a pod scheduled on a different node",
		attack: token(other), permitted: token(own),
	})
	forge("T17", forgery{
		name: "creating a token for an audience that the pod does not mount", rule: "NR-SA-4",
		text:   "is not authorized to request tokens for audience",
		attack: token(own, "vault"), permitted: token(own),
	})
	for _, f := range []forgery{
		{
			name: "creating a resource slice of another node", rule: "NR-SLICE-1", text: "can only create ResourceSlice",
			beside: []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{"resource.k8s.io"},
				Resources: []string{"resourceslices"}}},
			attack: slice(other), permitted: slice(own),
		},
		{
			name: "creating the CSINode of another node", rule: "NR-CSINODE-1", text: "can only access CSINode",
			attack:    forNode(func(_, other string) Request { return Create(api.CSINodes).With(fixtures.CSINode(other)) }),
			permitted: forNode(func(own, _ string) Request { return Create(api.CSINodes).With(fixtures.CSINode(own)) }),
		},
		{
			name: "creating the lease of another node", rule: "NR-LEASE-1", text: "can only access node lease",
			attack: lease(other), permitted: lease(own),
		},
		{
			name: "requesting the certificate of another node's pod", rule: "NR-PCR-3", text: "is not running on node",
			attack: certificate(other), permitted: certificate(own),
		},
		{
			name: "requesting a client certificate of another node", rule: "NR-CSR-1",
			text:   "can only create a node CSR with CN=system:node:",
			attack: signingRequest(other), permitted: signingRequest(own),
		},
	} {
		forge("T18", f)
	}
	forge("T19", forgery{
		name: "labelling a claim through its status", rule: "NR-PVC-2", text: "is not allowed to update fields other than",
		attack:    claimStatus(labels("app", "payments")),
		permitted: claimStatus(fields{"status": fields{"capacity": fields{"storage": "2Mi"}}}),
	})
})

func slice(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		return Create(api.ResourceSlices).With(fixtures.ResourceSlice(e.NewName("slice"), where(e)))
	}
}

func lease(where place) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		return Create(api.Leases).In(fixtures.LeaseNamespace).With(fixtures.Lease(fixtures.LeaseNamespace, where(e)))
	}
}
