// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	tokenBound = rules.Rule{
		ID: "NS-TOKEN-2",
		Description: "A pod of an account with a scope, of any size, creates a token only if the token is bound, " +
			"by name and UID, to a pod on its own node that runs as the token's account. It creates a pod " +
			"certificate only as NodeRestriction allows its node.",
		Source: "Bulkhead: NS-TOKEN-1; plugin/pkg/admission/noderestriction/admission.go " +
			"admitServiceAccount, admitPodCertificateRequest",
		Extension: true,
	}
	tokenSecret = rules.Rule{
		ID: "NS-TOKEN-3",
		Description: "An account with a scope, of any size, writes no secret of type " +
			"kubernetes.io/service-account-token and none of type bootstrap.kubernetes.io/token. The token " +
			"controller would fill the first with a token that has no pod and does not expire. The second is a " +
			"token with which a machine joins as a new node.",
		Source: "Bulkhead: NS-TOKEN-1; pkg/controller/serviceaccount/tokens_controller.go; " +
			"plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go",
		Extension: true,
	}
)

// makesCredential reports whether a write to the resource can create a token or a certificate
// of an account.
func makesCredential(r nodescope.Resource) bool {
	return nodescope.IsTokenRequest(r) || nodescope.IsPodCertificateRequest(r) || isSecret(r)
}

func isSecret(r nodescope.Resource) bool { return r == nodescope.Resource{Resource: "secrets"} }

// reviewCredential limits every account with a scope, whatever the scope names.
func (r *Reviewer) reviewCredential(
	ctx context.Context, a admission.Attributes, who nodescope.Identity,
) rules.Decision {
	what := resourceOf(a)
	if isSecret(what) {
		return reviewSecret(a)
	}
	if !nodescope.IsTokenRequest(what) && !nodescope.IsPodCertificateRequest(what) {
		return admitted
	}
	if by, why, against := who.Against(); against {
		return forbid(a, rules.Rule{ID: by}, why)
	}
	if nodescope.IsTokenRequest(what) {
		return r.reviewToken(ctx, a, who.Node())
	}
	return citing(r.config.Nodes.ReviewExempting(ctx, asNode{a, userOf(who.Node())}, who.Lifts), tokenBound)
}

// reviewToken reads the pod that the new token is bound to. It denies the other kinds of bound
// object, Secret and Node: such a token has no pod.
func (r *Reviewer) reviewToken(ctx context.Context, a admission.Attributes, node string) rules.Decision {
	request, ok := a.GetObject().(*authenticationv1.TokenRequest)
	if !ok || request == nil {
		return unexpected(a, tokenBound, a.GetObject())
	}
	ref := request.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" || ref.UID == "" {
		return forbid(a, tokenBound, fmt.Sprintf(
			"a pod on node %q can only create tokens that are bound to a pod by name and UID (spec.boundObjectRef)", node))
	}
	pod, err := r.config.Pods.Pod(ctx, a.GetNamespace(), ref.Name)
	switch {
	case apierrors.IsNotFound(err):
		return notOnNode(a, ref, node)
	case err != nil:
		return forbid(a, unready, "the pod of the new token cannot be read: "+err.Error())
	}
	return reviewBoundPod(a, node, ref, pod)
}

func reviewBoundPod(
	a admission.Attributes, node string, ref *authenticationv1.BoundObjectReference, pod *corev1.Pod,
) rules.Decision {
	switch known := podOf(pod); {
	case known.UID != ref.UID || known.NodeName != node:
		return notOnNode(a, ref, node)
	case known.RunsAs != a.GetName() || known.RunsAs == "":
		return forbid(a, tokenBound, fmt.Sprintf("pod %q does not run as service account %q", ref.Name, a.GetName()))
	}
	return admitted
}

// notOnNode has the same text for a pod that does not exist, that has another UID, or that is on
// another node. So the text does not say which pods other nodes have.
func notOnNode(a admission.Attributes, ref *authenticationv1.BoundObjectReference, node string) rules.Decision {
	return forbid(a, tokenBound,
		fmt.Sprintf("pod %q, with the UID in spec.boundObjectRef, is not on node %q", ref.Name, node))
}

// reviewSecret checks the old object too. The annotation of a token secret selects the account
// whose token it gets, and an update can change that annotation.
func reviewSecret(a admission.Attributes) rules.Decision {
	if a.GetOperation() != admission.Create && a.GetOperation() != admission.Update {
		return admitted
	}
	secret, ok := a.GetObject().(*corev1.Secret)
	if !ok || secret == nil {
		return unexpected(a, tokenSecret, a.GetObject())
	}
	types := []corev1.SecretType{secret.Type}
	if old, _ := a.GetOldObject().(*corev1.Secret); old != nil {
		types = append(types, old.Type)
	}
	for _, of := range types {
		if of == corev1.SecretTypeServiceAccountToken || of == corev1.SecretTypeBootstrapToken {
			return forbid(a, tokenSecret, "an account with a node scope cannot write secrets of type "+string(of))
		}
	}
	return admitted
}
