// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const podCertificateSource = "plugin/pkg/admission/noderestriction/admission.go admitPodCertificateRequest"

var (
	podCertificateCreate = rules.Rule{
		ID: "NR-PCR-1",
		Description: "While PodCertificateRequest is on, a node may create PodCertificateRequests, but never " +
			"changes or deletes one. While it is off, it may do neither.",
		Source: podCertificateSource,
	}
	podCertificateNode = rules.Rule{
		ID:          "NR-PCR-2",
		Description: "A node creates PodCertificateRequests only in its own name and with the UID of its Node.",
		Source:      podCertificateSource,
	}
	podCertificatePod = rules.Rule{
		ID: "NR-PCR-3",
		Description: "A node creates PodCertificateRequests only for a pod that is bound to it, has that UID and " +
			"is not a mirror pod.",
		Source: podCertificateSource,
	}
	podCertificateAccount = rules.Rule{
		ID: "NR-PCR-4",
		Description: "A node creates PodCertificateRequests only for the account that the pod runs as, with the account's " +
			"UID.",
		Source: podCertificateSource,
	}
	podCertificateSigner = rules.Rule{
		ID: "NR-PCR-5",
		Description: "A node creates PodCertificateRequests only for a signer that a projected volume of the pod " +
			"names, or that an administrator has granted to the node.",
		Source: "plugin/pkg/admission/noderestriction/admission.go validateNodePodCertificateSigner",
	}
	podCertificateCap = rules.Rule{
		ID: "NR-PCR-6",
		Description: "If the configuration has caps.podCertificateRequests, a node creates no " +
			"PodCertificateRequest while that many exist in its name.",
		Source:    "Bulkhead: a hostile node must not fill the cluster's store; upstream has no bound",
		Extension: true,
		Optional:  true,
	}
)

var podCertificateRequestRules = []rules.Rule{
	podCertificateCreate, podCertificateNode, podCertificatePod, podCertificateAccount, podCertificateSigner,
	podCertificateCap,
	podCertificateAsProjected,
}

// podCertificate is the spec of a PodCertificateRequest, and its namespace.
type podCertificate struct {
	*certificatesv1.PodCertificateRequestSpec
	namespace string
}

// pod returns the pod that the request is for, as namespace/name.
func (c podCertificate) pod() string { return c.namespace + "/" + c.PodName }

func (r *Restriction) reviewPodCertificateRequest(ctx context.Context, q *request) *rules.Decision {
	if !r.config.Features.PodCertificateRequest {
		return q.forbid(podCertificateCreate, "PodCertificateRequest feature gate is disabled")
	}
	if q.GetOperation() != admission.Create {
		return q.forbid(podCertificateCreate, fmt.Sprintf("unexpected operation %v", q.GetOperation()))
	}
	if q.GetSubresource() != "" {
		return q.forbid(podCertificateCreate, fmt.Sprintf("unexpected subresource %v", q.GetSubresource()))
	}
	spec, ok := podCertificateSpec(q.GetObject())
	if !ok {
		return q.unexpected(podCertificateCreate, q.GetObject())
	}
	asked := podCertificate{PodCertificateRequestSpec: spec, namespace: q.GetNamespace()}
	if refused := r.reviewPodCertificateNode(ctx, q, asked); refused != nil {
		return refused
	}
	pod, refused := r.podOfPodCertificate(ctx, q, asked)
	if refused != nil {
		return refused
	}
	if refused := r.reviewPodCertificateAccount(ctx, q, pod, asked); refused != nil {
		return refused
	}
	if refused := r.reviewPodCertificateSigner(ctx, q, pod, asked); refused != nil {
		return refused
	}
	if refused := r.reviewPodCertificateAsProjected(q, pod, asked); refused != nil {
		return refused
	}
	return r.reviewCap(ctx, q, podCertificateCap, PodCertificateRequests, q.caps().PodCertificateRequests,
		"PodCertificateRequests")
}

// podCertificateSpec reads both versions: API servers before 1.37 have only v1beta1. No rule uses
// the additional fields of v1beta1.
func podCertificateSpec(o runtime.Object) (*certificatesv1.PodCertificateRequestSpec, bool) {
	if request, ok := typed[certificatesv1.PodCertificateRequest](o); ok {
		return &request.Spec, true
	}
	beta, ok := typed[certificatesv1beta1.PodCertificateRequest](o)
	if !ok {
		return nil, false
	}
	return &certificatesv1.PodCertificateRequestSpec{
		SignerName: beta.Spec.SignerName,
		PodName:    beta.Spec.PodName, PodUID: beta.Spec.PodUID,
		ServiceAccountName: beta.Spec.ServiceAccountName, ServiceAccountUID: beta.Spec.ServiceAccountUID,
		NodeName: beta.Spec.NodeName, NodeUID: beta.Spec.NodeUID,
		MaxExpirationSeconds: beta.Spec.MaxExpirationSeconds, UnverifiedUserAnnotations: beta.Spec.UnverifiedUserAnnotations,
	}, true
}

// unlooked denies because an object that the request names could not be looked up. An object that
// is not found may only be too new. Upstream answers with a plain error in this case, which becomes
// a 500, so that the kubelet retries. unlooked does the same.
func (q *request) unlooked(by rules.Rule, kind, name string, err error) *rules.Decision {
	text := fmt.Sprintf("while retrieving %s %q named in the PodCertificateRequest: %v", kind, name, err)
	if apierrors.IsNotFound(err) {
		return q.retry(by, text)
	}
	return q.forbid(by, text)
}

// retry denies with a 500, so that the kubelet retries.
func (q *request) retry(by rules.Rule, text string) *rules.Decision {
	return q.raw(by, errors.New(text))
}

// reviewPodCertificateNode allows only the node's own name and the UID of its current Node. If the
// UIDs differ, the Node may have been created just now, so the kubelet may retry.
func (r *Restriction) reviewPodCertificateNode(ctx context.Context, q *request, asked podCertificate) *rules.Decision {
	if string(asked.NodeName) != q.node {
		return q.forbid(podCertificateNode,
			fmt.Sprintf("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", asked.NodeName, q.node))
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil {
		return q.unlooked(podCertificateNode, "node", string(asked.NodeName), err)
	}
	if node.UID != asked.NodeUID {
		return q.retry(podCertificateNode,
			fmt.Sprintf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)",
				asked.pod(), asked.NodeUID, node.UID))
	}
	return nil
}

// podOfPodCertificate returns the pod of the request. It denies if the pod is not bound to the
// node.
func (r *Restriction) podOfPodCertificate(ctx context.Context, q *request, asked podCertificate) (*corev1.Pod,
	*rules.Decision) {
	pod, err := r.config.Cluster.Pod(ctx, q.GetNamespace(), asked.PodName)
	if err != nil {
		return nil, q.unlooked(podCertificatePod, "pod", asked.pod(), err)
	}
	if pod.UID != asked.PodUID {
		return nil, q.retry(podCertificatePod,
			fmt.Sprintf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", asked.pod(),
				asked.PodUID, pod.UID))
	}
	if pod.Spec.NodeName != q.node {
		return nil, q.forbid(podCertificatePod,
			fmt.Sprintf("pod %q is not running on node %q named in the PodCertificateRequest", asked.pod(), asked.NodeName))
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror {
		return nil, q.forbid(podCertificatePod, fmt.Sprintf("pod %q is a mirror pod", asked.pod()))
	}
	return pod, nil
}

func (r *Restriction) reviewPodCertificateAccount(ctx context.Context, q *request, pod *corev1.Pod,
	asked podCertificate) *rules.Decision {
	if pod.Spec.ServiceAccountName != asked.ServiceAccountName {
		return q.forbid(podCertificateAccount,
			fmt.Sprintf("PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)",
				asked.pod(), asked.ServiceAccountName, pod.Spec.ServiceAccountName))
	}
	account, err := r.config.Cluster.ServiceAccount(ctx, q.GetNamespace(), asked.ServiceAccountName)
	if err != nil {
		return q.unlooked(podCertificateAccount, "service account", q.GetNamespace()+"/"+asked.ServiceAccountName, err)
	}
	if account.UID != asked.ServiceAccountUID {
		return q.retry(podCertificateAccount,
			fmt.Sprintf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running "+
				"service account (%q)", asked.pod(), asked.ServiceAccountUID, account.UID))
	}
	return nil
}

func (r *Restriction) reviewPodCertificateSigner(ctx context.Context, q *request, pod *corev1.Pod,
	asked podCertificate) *rules.Decision {
	if projectsCertificateOf(pod, asked.SignerName) {
		return nil
	}
	// RBAC treats the text after a slash as a subresource.
	resource := strings.ReplaceAll(asked.SignerName, "/", ":")
	granted, err := r.granted(ctx, q, "request-serviceaccounts-podcertificate-signer", resource, asked.ServiceAccountName)
	if granted {
		return nil
	}
	if err != nil {
		return q.forbid(podCertificateSigner,
			fmt.Sprintf("error authorizing %s to request podcertificaterequests for signer %q: %v", q.GetUserInfo().GetName(),
				asked.SignerName, err))
	}
	return q.forbid(podCertificateSigner,
		fmt.Sprintf("pod %q does not mount a podCertificate projected volume for signer %q", asked.pod(), asked.SignerName))
}

func projectsCertificateOf(pod *corev1.Pod, signer string) bool {
	for i := range pod.Spec.Volumes {
		projected := pod.Spec.Volumes[i].Projected
		if projected == nil {
			continue
		}
		for j := range projected.Sources {
			if certificate := projected.Sources[j].PodCertificate; certificate != nil && certificate.SignerName == signer {
				return true
			}
		}
	}
	return false
}
