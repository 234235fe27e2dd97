// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const admitServiceAccount = "plugin/pkg/admission/noderestriction/admission.go admitServiceAccount"

var (
	tokenOfPod = rules.Rule{
		ID:          "NR-SA-1",
		Description: "A node gets only tokens that are bound to a pod, by its name and its UID.",
		Source:      admitServiceAccount,
	}
	tokenOfLivePod = rules.Rule{
		ID:          "NR-SA-2",
		Description: "A node gets a token only while the pod with that UID exists.",
		Source:      admitServiceAccount,
	}
	tokenOfOwnPod = rules.Rule{
		ID:          "NR-SA-3",
		Description: "A node gets tokens only of pods that are bound to it.",
		Source:      admitServiceAccount,
	}
)

var serviceAccountRules = []rules.Rule{
	tokenOfPod, tokenOfLivePod, tokenOfOwnPod, tokenAudience, tokenAccount, tokenLife,
}

// reviewServiceAccount decides on tokens. A node has no right to write accounts,
// and upstream's plugin does not ask what it writes there.
func (r *Restriction) reviewServiceAccount(ctx context.Context, q *request) *rules.Decision {
	if q.GetOperation() != admission.Create || q.GetSubresource() != "token" {
		return nil
	}
	token, ok := typed[authenticationv1.TokenRequest](q.GetObject())
	if !ok {
		return q.unexpected(tokenOfPod, q.GetObject())
	}
	pod, refused := r.podOfToken(ctx, q, token.Spec.BoundObjectRef)
	if refused != nil {
		return refused
	}
	asked := r.audienceOf(token.Spec.Audiences)
	if refused := r.reviewAudience(ctx, q, pod, asked); refused != nil {
		return refused
	}
	return r.reviewTokenBeyond(ctx, q, pod, asked, token.Spec.ExpirationSeconds)
}

// podOfToken returns the pod that the token is for, which runs on the node. For a pod
// that is gone the answer is a 404, as upstream has it.
func (r *Restriction) podOfToken(ctx context.Context, q *request,
	ref *authenticationv1.BoundObjectReference) (*corev1.Pod, *rules.Decision) {
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return nil, q.forbid(tokenOfPod, "node requested token not bound to a pod")
	}
	if ref.UID == "" {
		return nil, q.forbid(tokenOfPod, "node requested token with a pod binding without a uid")
	}
	pod, err := r.config.Cluster.Pod(ctx, q.GetNamespace(), ref.Name)
	if err != nil && apierrors.IsNotFound(err) {
		return nil, q.raw(tokenOfLivePod, err)
	}
	if err != nil {
		return nil, q.forbid(tokenOfLivePod, err.Error())
	}
	if ref.UID != pod.UID {
		return nil, q.forbid(tokenOfLivePod,
			fmt.Sprintf("the UID in the bound object reference (%s) does not match the UID in record. The object might have "+
				"been deleted and then recreated", ref.UID))
	}
	if pod.Spec.NodeName != q.node {
		return nil, q.forbid(tokenOfOwnPod, "node requested token bound to a pod scheduled on a different node")
	}
	return pod, nil
}
