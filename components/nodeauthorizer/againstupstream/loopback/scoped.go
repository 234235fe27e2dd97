// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

const scopedText = `As above, about accounts that node scope holds on secrets: each of 100,000 pods has an account of its own, and asks with the token's claims for
a secret that it mounts. Ours finds account, pod and node, asks the node authorizer, and leaves the rest to RBAC.`

// ScopedReviews measures the reviews of accounts with a scope. lasting is how long each
// turn takes.
func ScopedReviews(ctx context.Context, plan bench.Plan, lasting time.Duration) (section report.Section, err error) {
	section = report.Section{Title: "SubjectAccessReview of an account with a scope", Text: scopedText}
	err = contest(ctx, &section, plan, lasting, newScopedContest)
	return section, err
}

func newScopedContest(ctx context.Context, dir string, shape bench.Shape) (*Contest, error) {
	world := bench.NewWorld(shape)
	var reviews []*authorizationv1.SubjectAccessReview
	for node := range shape.Nodes {
		reviews = append(reviews, scopedReview(fmt.Sprintf("pod0-node%d", node), fmt.Sprintf("node%d", node)))
	}
	c := &Contest{What: "scoped account's SubjectAccessReview", Other: "constant"}
	answer := constant(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":false,"reason":"[NS-SCOPE-1]"}}`)
	claimed := func(u user.Info) (string, bool) {
		return u.GetExtra()["authentication.kubernetes.io/node-name"][0], true
	}
	return c, c.serveReviews(ctx, dir, policy{bench.NewScoped(world), claimed, "NS-LIMIT", nodescope.Rules}, answer, func(ctx context.Context, caller *Caller, n int) error {
		return caller.mustPass(ctx, reviews[n%len(reviews)])
	})
}

// scopedReview asks whether a pod's account may get a secret of the pod, as kube-apiserver
// words it.
func scopedReview(pod, node string) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:ns0:svcacct-" + pod, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns0", "system:authenticated"},
		Extra: map[string]authorizationv1.ExtraValue{
			"authentication.kubernetes.io/credential-id": {"JTI=01234567-89ab-cdef-0123-456789abcdef"},
			"authentication.kubernetes.io/node-name":     {node},
			"authentication.kubernetes.io/node-uid":      {"uid-" + node},
			"authentication.kubernetes.io/pod-name":      {pod},
			"authentication.kubernetes.io/pod-uid":       {"uid-" + pod},
		},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "ns0", Verb: "get", Version: "v1", Resource: "secrets", Name: "secret0-" + pod,
		},
	}}
}

// mustPass asks what has to be left to RBAC by the rule.
func (c *Caller) mustPass(ctx context.Context, review *authorizationv1.SubjectAccessReview) error {
	status, err := c.Ask(ctx, review)
	if err == nil && (status.Allowed || status.Denied || status.Reason != "[NS-SCOPE-1]") {
		return fmt.Errorf("%s: answered %+v", review.Spec.User, status)
	}
	return err
}
