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

// Config is the configuration of a [Reviewer].
type Config struct {
	// Nodes decides by the rules of NodeRestriction. It is required.
	Nodes Restriction
	// HasRules reports whether Nodes has a rule for a resource. If it is nil, every resource
	// has one.
	HasRules func(schema.GroupResource) bool
	// Accounts looks up accounts. If it is nil, no account is known, and writes of accounts
	// that need a look-up are denied.
	Accounts Accounts
	// Pods reads pods. It is required.
	Pods Pods
	// Custom are the custom resources whose objects name the node that they belong to.
	Custom nodescope.Declarations
	// Unready returns why Accounts is not current, as the end of a sentence, or an empty string
	// if it is. While the string is not empty, every write of an account is denied. If Unready
	// is nil, they are always denied.
	Unready func() (why string)
}

// Restriction decides writes of nodes by the rules of NodeRestriction.
type Restriction interface {
	Review(ctx context.Context, a admission.Attributes) rules.Decision
	ReviewExempting(ctx context.Context, a admission.Attributes, exempted func(rules.ID) bool) rules.Decision
}

// Accounts looks up what the annotations of ServiceAccounts and of their pods say. It is safe
// for concurrent use. See [nodescope.NodeInfo].
type Accounts interface {
	Account(namespace, name string) (account nodescope.Account, known bool)
}

// Pods reads pods from the API server, without a cache. For a pod that does not exist, the
// error has the code 404. Every other error means that the answer is not known. Pods is safe
// for concurrent use. Pod returns when ctx is done. An implementation must also limit the wait
// itself, because ctx may have no deadline.
type Pods interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

// Reviewer decides writes of accounts and nodes. It is safe for concurrent use if the parts of
// its Config are. It does not cache decisions.
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

// Review decides one write of a ServiceAccount. It admits the write of any other user without a
// rule. Objects must have the type of k8s.io/api that belongs to the resource, or be
// unstructured for a custom resource. An object of another type is denied.
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
		return v.AsFinding(rules.Allow)
	}
	return v
}

// concerns reports whether any rule applies to the resource. Other writes need no look-up. For
// some accounts, they are the majority.
func (r *Reviewer) concerns(a admission.Attributes) bool {
	what := resourceOf(a)
	if _, declared := r.config.Custom.Of(what); declared {
		return true
	}
	return r.config.HasRules(schema.GroupResource{Group: what.Group, Resource: what.Resource}) ||
		annotationTargetOf(what) != nothing || makesCredential(what)
}

// decide decides as if the scope of the account were enforced.
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
		return forbid(a, byScoped(a), "an account with a scope "+text)
	}
	switch {
	case !who.Covers(resourceOf(a)):
		return r.reviewCredential(ctx, a, who)
	case against:
		return forbid(a, rules.Rule{ID: by}, why)
	}
	v := r.decideScoped(ctx, a, who)
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

// ReviewNode decides one write of a node when node scope is enabled. It applies the rules of
// NodeRestriction, and the rules that protect the annotations of node scope from nodes. It
// admits the write of any other user without a rule. It looks up no account, so it does not
// depend on Unready.
func (r *Reviewer) ReviewNode(ctx context.Context, a admission.Attributes) rules.Decision {
	if node, isNode := nodeidentity.NodeName(a.GetUserInfo()); isNode {
		if text := changesMark(a); text != "" {
			return forbid(a, byNode(a), fmt.Sprintf("node %q %s", node, text))
		}
	}
	return r.config.Nodes.Review(ctx, a)
}
