// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopesuggest computes the widest scope that permits everything that an account was
// seen to do. Its input are audit logs and RBAC objects. It calls the node-scope authorizer for
// each request, and sends no request to the cluster itself.
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

// maxImpersonated is the maximum number of names, and of requests that no scope permits, that
// are kept. One is enough to show that there is no scope.
const maxImpersonated = 20

// Suggester collects what an account does and may do. It is not safe for concurrent use. Its
// memory depends on the number of resources, not on the number of requests.
type Suggester struct {
	judge
	// node is a node on which a pod of the account ran.
	node         string
	rows         map[nodescope.Resource]*row
	wildcards    map[string]bool
	impersonates map[string]bool
	// unscoped are requests that an account with any scope must not make.
	unscoped map[string]bool
}

// row has the data of one resource.
type row struct {
	seen, otherNodes, written int
	why                       string
	granted                   map[string]string // verb to a namespace in which it is granted
}

// New returns a Suggester. config is the configuration of the node-scope authorizer. Its Info
// and Confirmer are not called: the claims of each token are trusted.
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

// See adds a request that the API server permitted.
func (s *Suggester) See(ctx context.Context, seen Request) {
	if seen.As != "" {
		s.seeImpersonation(seen)
		return // the impersonated user sent the request
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
	if at.otherNodes++; at.why == "" {
		at.why = describe(seen) + ": " + why
	}
	if id, _ := rules.FromReason(why); nodescope.InEveryScope(id) && len(s.unscoped) < maxImpersonated {
		s.unscoped[describe(seen)+": "+why] = true
	}
}

// seeImpersonation ignores the impersonation that NS-IMPERSONATE-1 permits.
func (s *Suggester) seeImpersonation(seen Request) {
	if strings.HasPrefix(seen.Constraint, "impersonate:associated-node") {
		return
	}
	if len(s.impersonates) < maxImpersonated {
		s.impersonates[seen.As] = true
	}
}

// Grant adds the rules that RBAC grants to the account.
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

// verbs are the verbs that "*" stands for.
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
