// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Write sends a dry run as the user. It is nil without an object.
	Write func(context.Context, *Request) Write
	// Metrics reads the metrics of node-authorizer on a control-plane host, for the age of its view:
	// see [ReadMetrics]. If it is nil, the age is left out.
	Metrics func(ctx context.Context, host string) ([]byte, error)
}

// Ask explains what the cluster decides about the request now. It returns an error if the caller may
// not ask.
func (k Asker) Ask(ctx context.Context, r *Request) (*Answer, error) {
	review, err := k.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, r.review(), metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("cannot ask the API server: %s; use credentials that may create subjectaccessreviews in "+
			"authorization.k8s.io, or give the message of the denial", cannotRead(err))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask the API server: %s; check the kubeconfig, and that its server answers",
			cannotRead(err))
	}
	status := review.Status
	a := &Answer{Request: r.String(), Step: Authorization, Reason: webhook.Printable(status.Reason, maxText)}
	by := k.authorization(a, r, status.Allowed, status.Denied, status.Reason)
	if status.EvaluationError != "" {
		a.note("The API server reports an error of an authorizer: " + webhook.Printable(status.EvaluationError, 512))
	}
	k.addPath(ctx, a, r, by, status.Reason)
	if a.Path != nil && by.fromGraph() && k.Metrics != nil {
		a.View = k.viewAges(ctx)
	}
	if status.Allowed && k.Write != nil {
		k.write(ctx, a, r)
	} else if status.Allowed {
		a.noteAdmission(r)
	}
	here, err := rulebook.ReadHere(ctx, k.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem))
	if err != nil {
		a.note("The modes of this cluster are not known: " + cannotRead(err))
		return a, nil
	}
	a.In(here)
	return a, nil
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
		late = a.Outcome == Allowed && !slices.ContainsFunc(by.rules, abstains)
	}
	if late {
		a.note(lateView)
	}
}

// noteAdmission says that admission was not asked.
func (a *Answer) noteAdmission(r *Request) {
	if slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && r.Path == "" {
		a.note("Authorization does not see what a request writes. To ask admission too, give the object with -f.")
	}
}

// cannotRead returns an error of the API server, safe to print.
func cannotRead(err error) string { return webhook.Printable(err.Error(), 512) }
