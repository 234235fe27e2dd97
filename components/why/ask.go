// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
)

// lateView says how to look at the age of the authorizer's view.
const lateView = "The decision and the objects of the API server do not agree. node-authorizer's view may be late: " +
	"ask again in a few seconds. If the age of the view stays above two minutes, see BulkheadViewStale in " +
	"docs/runbooks.md."

// Asker asks a cluster, with the rights of the caller.
type Asker struct {
	Client kubernetes.Interface
	// FromText is true if the request is from a message or an event.
	FromText bool
	// Write sends a dry run as the user. It is nil without an object.
	Write func(context.Context, *Request) Write
	// Metrics reads the metrics of node-authorizer on a control-plane host, for the age of its view:
	// see [ReadMetrics]. If it is nil, the age is left out.
	Metrics func(ctx context.Context, host string) ([]byte, error)
}

// Ask explains what the cluster decides about the request now. It returns an error if the caller may
// not ask.
func (k Asker) Ask(ctx context.Context, r *Request) (*Answer, error) {
	status, err := k.review(ctx, r)
	if err != nil {
		return nil, err
	}
	a := &Answer{Request: r.String(), Step: Authorization, Reason: webhook.Printable(status.Reason, maxText)}
	defer a.makePrintable()
	by := k.authorization(a, r, status.Allowed, status.Denied, status.Reason)
	if status.EvaluationError != "" {
		a.note("The API server reports an error of an authorizer: " + webhook.Printable(status.EvaluationError, 512))
	}
	k.addPath(ctx, a, r, by, status.Reason)
	if a.Path != nil && by.fromGraph() && k.Metrics != nil {
		a.View = k.viewAges(ctx)
	}
	a.noteNode(r)
	if status.Allowed && k.Write != nil {
		k.write(ctx, a, r)
	} else if status.Allowed {
		a.noteAdmission(r, k.FromText)
	}
	here, err := rulebook.ReadHere(ctx, k.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem))
	if err != nil {
		a.note("The modes of this cluster are not known: " + cannotRead(err))
	} else {
		a.In(here)
	}
	if status.Allowed {
		a.noteConnect(r, here)
	}
	return a, nil
}

func (k Asker) review(ctx context.Context, r *Request) (authorizationv1.SubjectAccessReviewStatus, error) {
	var none authorizationv1.SubjectAccessReviewStatus
	review, err := k.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, r.review(), metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return none, fmt.Errorf("cannot ask the API server: %s; use credentials that may create subjectaccessreviews in "+
			"authorization.k8s.io, or give the message of the denial", cannotRead(err))
	case err != nil:
		return none, noAnswer(err)
	}
	return review.Status, nil
}

// noAnswer says what to do if the API server does not answer.
func noAnswer(err error) error {
	next := "check the kubeconfig, and that its server answers (kubectl get --raw /readyz)"
	if failed := (*url.Error)(nil); errors.As(err, &failed) && failed.Timeout() {
		next += "; to wait longer, give --request-timeout"
	}
	return fmt.Errorf("cannot ask the API server: %s; %s", cannotRead(err), next)
}

// noteNode says that a ServiceAccount can have other rights with the token of a pod.
func (a *Answer) noteNode(r *Request) {
	if _, _, err := serviceaccount.SplitUsername(r.User); err == nil && len(r.Extra[serviceaccount.NodeNameKey]) == 0 {
		a.note("The answer is for a token without a node. The token of a pod names the pod's node: to ask about it, give " +
			"--node-name.")
	}
}

func (k Asker) authorization(a *Answer, r *Request, allowed, denied bool, reason string) decider {
	if allowed {
		a.Outcome = Allowed
		by := allowedBy(r, reason)
		a.By = by.by
		a.addRules(by.rules)
		return by
	}
	a.Outcome = Denied
	by := deniedBy(r, reason, denied)
	a.unauthorized(r, by, reason)
	return by
}

// nodeOf returns the node whose relations decide: that of a node, or of a token that is bound to a pod.
func nodeOf(r *Request) string {
	if node, is := r.node(); is {
		return node
	}
	for _, nodes := range r.Extra {
		if len(nodes) == 1 {
			return nodes[0]
		}
	}
	return ""
}

// addPath finds the path of the graph, and compares it with the decision.
func (k Asker) addPath(ctx context.Context, a *Answer, r *Request, by decider, reason string) {
	o, ok := objectOf(r)
	node := nodeOf(r)
	if !ok || node == "" {
		return
	}
	a.Path = findPath(ctx, k.Client, node, o)
	p := a.Path
	if p.Unknown != "" || p.OnlyWithout != "" {
		return
	}
	if _, isNode := r.node(); !isNode || by.byRBAC {
		return
	}
	late := a.Outcome == Denied && relationMissing(by.rules, reason)
	if !p.Related {
		late = a.Outcome == Allowed
	}
	if late {
		a.note(lateView)
	}
}

// cannotRead returns an error of the API server, safe to print.
func cannotRead(err error) string { return webhook.Printable(err.Error(), 512) }
