// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Config is what a [Reviewer] decides from.
type Config struct {
	// Nodes has the rules of NodeRestriction. It is needed.
	Nodes Restriction
	// HasRules reports whether Nodes has a rule on a resource. If it is nil, every resource
	// has one.
	HasRules func(schema.GroupResource) bool
	// Accounts, if nil, knows no account, so that every write is refused.
	Accounts Accounts
	// Pods is needed.
	Pods Pods
	// Custom are the custom resources that say which node they belong to.
	Custom nodescope.Declarations
	// Unready says, as the end of a sentence, why Accounts is not to be relied on. While
	// it says anything, and forever if it is nil, every write of an account is refused.
	Unready func() (why string)
}

// Restriction decides on the writes of nodes, by the rules of NodeRestriction.
type Restriction interface {
	Review(ctx context.Context, a admission.Attributes) rules.Decision
	ReviewExempting(ctx context.Context, a admission.Attributes, exempted func(rules.ID) bool) rules.Decision
}

// Accounts knows what ServiceAccounts and their annotated pods say. It is safe for
// concurrent use. See [nodescope.NodeInfo].
type Accounts interface {
	Account(namespace, name string) (account nodescope.Account, known bool)
}

// Pods reads pods as they are now: one that is not there is an error with the code 404,
// every other error means that the answer is not known. It is safe for concurrent use, and
// ends with ctx; how long it waits without is its own to bound.
type Pods interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

// Reviewer decides on writes of accounts and of nodes. It is safe for concurrent use if
// what its Config has is, and keeps nothing of what it has decided.
type Reviewer struct{ config Config }

// New returns a Reviewer. It does no I/O.
func New(config Config) *Reviewer {
	if config.Accounts == nil {
		config.Accounts = noAccounts{}
	}
	if config.HasRules == nil {
		config.HasRules = func(schema.GroupResource) bool { return true }
	}
	if config.Unready == nil {
		config.Unready = func() string { return "knows nothing of the cluster" }
	}
	return &Reviewer{config}
}

// Review answers one write of a ServiceAccount. One of anybody else is admitted without a
// rule. Objects have to be of the types of k8s.io/api that belong to the resource, and
// unstructured for a custom resource; one of another type is refused.
func (r *Reviewer) Review(ctx context.Context, a admission.Attributes) rules.Decision {
	who := a.GetUserInfo()
	if !isAccount(who) {
		return admitted
	}
	if why := r.config.Unready(); why != "" {
		return forbid(a, unready, "node scope "+why)
	}
	if !r.concerns(a) {
		return admitted
	}
	look := &lookup{ctx: ctx, accounts: r.config.Accounts, pods: r.config.Pods}
	identity := nodescope.Identify(who, look)
	v := r.decide(ctx, a, identity, look.err)
	if identity.Audits() {
		return onlyFound(v)
	}
	return v
}

// concerns reports whether there is any rule on what is written. The rest, which is most of
// what some accounts write, costs no look-up.
func (r *Reviewer) concerns(a admission.Attributes) bool {
	what := resourceOf(a)
	if _, declared := r.config.Custom.Of(what); declared {
		return true
	}
	return r.config.HasRules(schema.GroupResource{Group: what.Group, Resource: what.Resource}) ||
		carrierOf(what) != nothing || makesCredential(what)
}

// decide rules as if the scope of the account were enforced.
func (r *Reviewer) decide(ctx context.Context, a admission.Attributes, who nodescope.Identity,
	notLookedUp error) rules.Decision {
	by, why, against := who.Against()
	switch {
	case notLookedUp != nil:
		return forbid(a, unready, "the pod of the token cannot be read: "+notLookedUp.Error())
	case against && by == unready.ID:
		return forbid(a, rules.Rule{ID: by}, why)
	case !who.IsBound():
		return admitted
	}
	if text := changesMark(a); text != "" {
		return forbid(a, byScoped(a), "who is held to a node "+text)
	}
	switch {
	case !who.Covers(resourceOf(a)):
		return r.reviewCredential(ctx, a, who)
	case against:
		return forbid(a, rules.Rule{ID: by}, why)
	}
	v := r.decideHeld(ctx, a, who)
	if !v.Allowed() {
		return v
	}
	if more := r.reviewCredential(ctx, a, who); !more.Allowed() {
		return more
	}
	return v
}

func resourceOf(a admission.Attributes) nodescope.Resource {
	r := a.GetResource()
	return nodescope.Resource{Group: r.Group, Resource: r.Resource, Subresource: a.GetSubresource()}
}

// ReviewNode answers one write of a node, where node scope is on: by the rules of
// NodeRestriction, and by those that keep nodes from what scopes are made of. One of
// anybody else is admitted without a rule. It needs to know of no account, and so is
// ready when the rules are.
func (r *Reviewer) ReviewNode(ctx context.Context, a admission.Attributes) rules.Decision {
	if node, isNode := nodeidentity.NodeName(a.GetUserInfo()); isNode {
		if text := changesMark(a); text != "" {
			return forbid(a, byNode(a), fmt.Sprintf("node %q %s", node, text))
		}
	}
	return r.config.Nodes.Review(ctx, a)
}
