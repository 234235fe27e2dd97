// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopesuggest works out the widest scope under which an account could go on
// with what it was seen to do. It reads audit logs and RBAC objects that it is given,
// asks the authorizer of node scope about each request, and talks to nobody itself.
package scopesuggest

import (
	"context"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// maxImpersonated bounds the names, and the requests beyond every scope, that are kept: one
// is enough.
const maxImpersonated = 20

// Suggester gathers what an account does and may do. It is not safe for concurrent use.
// Its memory is bounded by the number of resources, and not by that of requests.
type Suggester struct {
	judge
	// node is one that a pod of the account was on.
	node         string
	rows         map[nodescope.Resource]*row
	wildcards    map[string]bool
	impersonates map[string]bool
	// unscoped are requests that no account with a scope may make.
	unscoped map[string]bool
}

// row is what is known of one resource.
type row struct {
	seen, beyond, written int
	why                   string
	granted               map[string]string // verb to a namespace in which it is granted
}

// New takes what the authorizer of node scope decides from. Its Info and Confirmer are
// not asked: each token is believed.
func New(account scopelist.Account, config nodescope.Config) *Suggester {
	config.Confirmer = nil
	return &Suggester{
		judge: judge{config, account}, node: "node", rows: map[nodescope.Resource]*row{},
		wildcards: map[string]bool{}, impersonates: map[string]bool{}, unscoped: map[string]bool{},
	}
}

func (s *Suggester) at(r nodescope.Resource) *row {
	if s.rows[r] == nil {
		s.rows[r] = &row{granted: map[string]string{}}
	}
	return s.rows[r]
}

// See takes a request that passed.
func (s *Suggester) See(ctx context.Context, seen Request) {
	if seen.As != "" {
		s.seeImpersonation(seen)
		return // what followed was asked as somebody else
	}
	a := &seen.Attributes
	r := nodescope.Resource{Group: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource}
	if !a.ResourceRequest || !nodescope.Everything().Covers(r) {
		return
	}
	at := s.at(r)
	at.seen++
	if isWrite(a.Verb) {
		at.written++
	}
	why := s.refusal(ctx, a)
	if why == "" {
		why = seen.WouldRefuse
	}
	if node := (witness{s.account, a.User}).says("authentication.kubernetes.io/node-name"); node != "" {
		s.node = node
	}
	if why == "" {
		return
	}
	if at.beyond++; at.why == "" {
		at.why = describe(seen) + ": " + why
	}
	if id, _ := rules.FromReason(why); nodescope.InEveryScope(id) && len(s.unscoped) < maxImpersonated {
		s.unscoped[describe(seen)+": "+why] = true
	}
}

// seeImpersonation knows what NS-IMPERSONATE-1 lets pass.
func (s *Suggester) seeImpersonation(seen Request) {
	if strings.HasPrefix(seen.Constraint, "impersonate:associated-node") {
		return
	}
	if len(s.impersonates) < maxImpersonated {
		s.impersonates[seen.As] = true
	}
}

// Grant takes what RBAC gives to the account.
func (s *Suggester) Grant(all []Grant) {
	for _, g := range all {
		for _, group := range g.APIGroups {
			for _, resource := range g.Resources {
				s.grant(g, group, resource)
			}
		}
	}
}

func (s *Suggester) grant(g Grant, group, resource string) {
	name, subresource, _ := strings.Cut(resource, "/")
	r := nodescope.Resource{Group: group, Resource: name, Subresource: subresource}
	if group == rbacv1.APIGroupAll || name == rbacv1.ResourceAll || subresource == rbacv1.ResourceAll {
		s.wildcards[fmt.Sprintf("%s (%s)", r, strings.Join(g.Verbs, ", "))] = true
		return
	}
	if !nodescope.Everything().Covers(r) {
		return
	}
	for _, verb := range g.Verbs {
		if verb == rbacv1.VerbAll {
			for _, every := range verbs {
				s.at(r).granted[every] = g.Namespace
			}
			continue
		}
		s.at(r).granted[verb] = g.Namespace
	}
}

// verbs are what a star stands for.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

func isWrite(verb string) bool {
	return verb != "get" && verb != "list" && verb != "watch"
}

func describe(seen Request) string {
	a := &seen.Attributes
	r := nodescope.Resource{Group: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource}
	text := a.Verb + " " + r.String()
	if a.Name != "" {
		text += " " + strings.TrimPrefix(a.Namespace+"/"+a.Name, "/")
	}
	return text
}
