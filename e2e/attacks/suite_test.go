// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package attacks_test tries the known attacks with the credentials of a node, real or shown to be
// possible. There is one file for each kind of attack. Every attempt is made three times. Without
// protection it succeeds. As a node it is denied by the right rule. Its permitted counterpart,
// which differs in one thing, is allowed.
//
// "Without protection" means RBAC only: a user who is not in the group of nodes is bound to the
// ClusterRole system:node. Nodes had these rights before the Node authorizer existed. This proves
// on every profile that the attempt is valid.
package attacks_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	all   = slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules, nodescope.Rules, admission.Rules)
	suite *Suite
	api   = fixtures.AllResources()
)

// An init function avoids an initialization cycle: makeStage uses suite.
func init() { suite = NewStagedSuite("attacks", all, Stage{Make: makeStage, Take: takeStage}) }

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestSpecsNameRules(t *testing.T) { CheckNames(t, all) }

// attempt is one way to carry out an attack.
type attempt struct {
	name string
	// rule denies the attempt, with upstream's text if there is one. The same rule allows the
	// permitted request, unless twinBy names another rule.
	rule, permittedBy rules.ID
	text              string
	// off is the rule that allows the attempt where rule is not in force. It is empty if rule is
	// always in force.
	off               rules.ID
	attack, permitted RequestFunc
}

// try makes the specs of an attempt.
func try(attack string, a attempt) {
	refusal, permittedBy := Denies(a.rule), a.permittedBy
	if a.off != "" {
		refusal = DeniesBeyond(a.rule, a.off)
	}
	if permittedBy == "" {
		permittedBy = a.rule
	}
	Describe(a.name, Attack(attack), func() {
		It("succeeds with the rights that nodes had by RBAC", AllowsBy(a.rule, Behind), func(ctx SpecContext) {
			suite.ExpectClaim(ctx, asRBACOnly(ctx, suite.Env()), a.attack)
		})
		It("is denied to a node", refusal, func(ctx SpecContext) {
			begun, node := time.Now(), suite.AsNode(suite.Env().Own)
			var sent Request
			suite.ExpectClaim(ctx, node, func(ctx context.Context, e *Env) Request {
				sent = a.attack(ctx, e)
				return sent
			}, a.text)
			if a.off == "" || suite.InForce(a.rule) {
				expectAudited(ctx, &Run{sent: sent}, node, begun, a.rule)
			}
		})
		It("the same request on the node's own objects is allowed", AllowsBy(a.rule, permittedBy), func(ctx SpecContext) {
			suite.ExpectClaim(ctx, suite.AsNode(suite.Env().Own), a.permitted)
		})
	})
}

// asRBACOnly returns a user with the rights of all nodes in RBAC. No authorizer treats this user
// as a node.
func asRBACOnly(ctx context.Context, e *Env, beside ...rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	who := suite.AsStranger("e2e-before-" + e.Own)
	e.Bind(ctx, who.User, "system:node")
	if len(beside) > 0 {
		e.Grant(ctx, who.User, beside...)
	}
	return who
}

// plainly is a request function that creates no objects. forNode also needs the names of the nodes.
func plainly(r Request) RequestFunc {
	return func(context.Context, *Env) Request { return r }
}

func forNode(build func(own, other string) Request) RequestFunc {
	return func(_ context.Context, e *Env) Request { return build(e.Own, e.Other) }
}

// place is a node of the Env.
type place func(*Env) string

func own(e *Env) string   { return e.Own }
func other(e *Env) string { return e.Other }

// secretOn creates a secret and a pod on the node that mounts it.
func secretOn(where place, question func(namespace, name string) Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		secret := fixtures.Secret(e.Namespace(ctx), e.NewName("secret"))
		e.Put(ctx, secret)
		e.Pod(ctx, where(e), fixtures.WithSecret(secret.Name))
		return question(secret.Namespace, secret.Name)
	}
}

func getSecret(namespace, name string) Request { return Get(api.Secrets).In(namespace).Named(name) }

func listSecret(namespace, name string) Request {
	return List(api.Secrets).In(namespace).Where("metadata.name=" + name)
}

func watchSecret(namespace, name string) Request {
	return Watch(api.Secrets).In(namespace).Where("metadata.name=" + name)
}

// withRequirements adds so many requirements to a selector.
func withRequirements(selector string, more int) string {
	return strings.Join(slices.Concat([]string{selector}, slices.Repeat([]string{"metadata.name!=nobody"}, more)), ",")
}

// unrelated is the start of upstream's reason when it denies a request for another node's object.
const unrelated = "no relationship found between node"
