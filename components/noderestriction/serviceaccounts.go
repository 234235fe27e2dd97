// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const admitServiceAccount = "plugin/pkg/admission/noderestriction/admission.go admitServiceAccount"

var (
	tokenOfPod = rules.Rule{
		ID:          "NR-SA-1",
		Description: "A node creates only tokens that are bound to a pod, by name and UID.",
		Source:      admitServiceAccount,
	}
	tokenOfLivePod = rules.Rule{
		ID:          "NR-SA-2",
		Description: "A node creates a token only while the pod with that UID exists.",
		Source:      admitServiceAccount,
	}
	tokenOfOwnPod = rules.Rule{
		ID:          "NR-SA-3",
		Description: "A node creates tokens only for pods that are bound to it.",
		Source:      admitServiceAccount,
	}
)

var serviceAccountRules = []rules.Rule{
	tokenOfPod, tokenOfLivePod, tokenOfOwnPod, tokenAudience, tokenAccount, tokenLife,
}

// reviewServiceAccount decides only on tokens. The authorizer does not allow a node to write
// service accounts, and upstream's plugin does not check such writes.
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
	return r.reviewTokenExtensions(ctx, q, pod, asked, token.Spec.ExpirationSeconds)
}

// podOfToken returns the pod that the token is bound to. It denies if the pod does not run on the
// node. As upstream does, it answers 404 for a pod that does not exist.
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

var (
	tokenAccount = rules.Rule{
		ID:          "NR-SA-5",
		Description: "A node creates tokens only for the account that the pod runs as.",
		Source: "Bulkhead: upstream compares the two after admission " +
			"(pkg/registry/core/serviceaccount/storage/token.go Create)",
		Extension: true,
		Optional:  true,
	}
	tokenLife = rules.Rule{
		ID: "NR-SA-6",
		Description: "If the configuration has maxTokenSeconds, a node creates no token that is valid for longer, " +
			"unless a volume of the pod or its driver requests a longer one. The kubelet's defaults, 3600 and " +
			"3607 seconds, are always allowed.",
		Source: "Bulkhead: upstream has one limit for all users (--service-account-max-token-expiration), or not at " +
			"all",
		Extension: true,
		Optional:  true,
	}
)

const (
	// defaultTokenSeconds is the lifetime of a token if the request does not set one
	// (pkg/apis/authentication/v1/defaults.go).
	defaultTokenSeconds = 3600
	// injectedTokenSeconds is the lifetime that the volume requests which every pod gets
	// (plugin/pkg/admission/serviceaccount/admission.go). It is allowed for every pod, so that a
	// low limit does not break kubelets.
	injectedTokenSeconds = 3607
)

// reviewTokenExtensions checks the optional rules for a token that upstream's rules admit.
func (r *Restriction) reviewTokenExtensions(ctx context.Context, q *request, pod *corev1.Pod, asked audience,
	seconds *int64) *rules.Decision {
	refused := r.optional(q, tokenAccount, func() *rules.Decision {
		if pod.Spec.ServiceAccountName == q.GetName() {
			return nil
		}
		return q.forbid(tokenAccount,
			fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.",
				q.GetName()))
	})
	if refused != nil {
		return refused
	}
	return r.optional(q, tokenLife, func() *rules.Decision {
		return r.reviewTokenLife(ctx, q, pod, asked, secondsOf(seconds))
	})
}

// reviewTokenLife checks the lifetime that the node requests. The API server may still shorten it
// (--service-account-max-token-expiration). For its own audiences it extends 3607 seconds to one
// year, unless --service-account-extend-token-expiration is false.
func (r *Restriction) reviewTokenLife(ctx context.Context, q *request, pod *corev1.Pod, asked audience,
	seconds int64) *rules.Decision {
	if q.configuration == nil || q.configuration.MaxTokenSeconds <= 0 {
		return nil
	}
	bound := max(q.configuration.MaxTokenSeconds, injectedTokenSeconds)
	for token := range projectedTokens(pod) {
		if asked.is(token.Audience) {
			bound = max(bound, secondsOf(token.ExpirationSeconds))
		}
	}
	if seconds <= bound {
		return nil
	}
	bound, err := r.driversBound(ctx, pod, asked, bound)
	switch {
	case seconds <= bound:
		return nil
	case err != nil:
		return q.forbid(tokenLife, fmt.Sprintf("cannot tell how long a token the volumes of the pod may have: %v", err))
	default:
		return q.forbid(tokenLife,
			fmt.Sprintf("node may not request a token for %d seconds: %d seconds are the most that the pod or the policy asks "+
				"for", seconds, bound))
	}
}

// driversBound raises the limit to the lifetime that the drivers of the pod's volumes request.
func (r *Restriction) driversBound(ctx context.Context, pod *corev1.Pod, asked audience, bound int64) (int64, error) {
	var errs []error
	for token, err := range r.driverTokens(ctx, pod) {
		if err != nil {
			errs = append(errs, err)
		} else if asked.is(token.Audience) {
			bound = max(bound, secondsOf(token.ExpirationSeconds))
		}
	}
	return bound, utilerrors.NewAggregate(errs)
}

func secondsOf(seconds *int64) int64 {
	if seconds == nil {
		return defaultTokenSeconds
	}
	return *seconds
}
