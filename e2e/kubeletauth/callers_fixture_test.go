// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// rights are to the API, by RBAC.
type rights []rbacv1.PolicyRule

// may is one verb on subresources of nodes.
func may(verb string, subresources ...string) rights {
	rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}}
	for _, subresource := range subresources {
		rule.Resources = append(rule.Resources, "nodes/"+subresource)
	}
	return rights{rule}
}

// everything is what an administrator has, so that it is no lack of rights for which a
// request is refused.
var everything = rights{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}

// named narrows rights to nodes by name.
func (r rights) named(nodes ...string) rights {
	var narrowed rights
	for _, rule := range r {
		rule.ResourceNames = nodes
		narrowed = append(narrowed, rule)
	}
	return narrowed
}

// target is the node whose kubelet most specs ask.
func target() string {
	if suite.Worker == "" {
		return suite.ControlPlane
	}
	return suite.Worker
}

// kubelet is where that kubelet is asked for.
func kubelet(ctx context.Context) *Port {
	GinkgoHelper()
	return must(suite.KubeletPort(ctx, target()))
}

// caller is somebody whom nobody has seen before, with a certificate of the cluster and
// these rights alone.
func caller(ctx context.Context, has ...rights) Caller {
	GinkgoHelper()
	return must(identity(ctx, has...).Caller())
}

// identity is the same, for those who talk to the API server, too.
func identity(ctx context.Context, has ...rights) *Identity {
	GinkgoHelper()
	who := must(suite.CertifiedUser(ctx, suite.Scene().NewName("e2e-caller")))
	for _, r := range has {
		suite.Scene().Grant(ctx, who.User, r...)
	}
	return who
}

// account is a new service account of the scene.
func account(ctx context.Context) *corev1.ServiceAccount {
	GinkgoHelper()
	made := fixtures.ServiceAccount(suite.Scene().Namespace(ctx), suite.Scene().NewName("e2e-account"))
	suite.Scene().Put(ctx, made)
	return made
}

// bearer is a new service account with these rights alone and a token of the API server
// for an audience, or for the API server itself if that is empty.
func bearer(ctx context.Context, audience string, has ...rights) Caller {
	GinkgoHelper()
	made, request := account(ctx), &authenticationv1.TokenRequest{}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	token := must(suite.Client.CoreV1().ServiceAccounts(made.Namespace).CreateToken(ctx, made.Name, request,
		metav1.CreateOptions{}))
	who := Account(made.Namespace, made.Name, token.Status.Token)
	for _, r := range has {
		suite.Scene().Grant(ctx, who.User, r...)
	}
	return who
}

// decide is the body of most tables: somebody with these rights alone makes the call,
// and the answer has to be what the labels of the spec claim. codes are the status,
// and then what it is where the rule is not in force; without any, 200 and 403.
func decide(ctx SpecContext, has rights, call Call, codes ...int) {
	hold(ctx, kubelet(ctx), caller(ctx, has), call, codes...)
}

// hold makes the call as who and holds the answer against the labels of the spec.
func hold(ctx context.Context, port *Port, who Caller, call Call, codes ...int) (Reply, KubeletLine) {
	GinkgoHelper()
	reply := send(ctx, port, who, call)
	claim := ReadClaim(CurrentSpecReport().Labels())
	Expect(claim.Rules).NotTo(BeEmpty(), "the spec names no rule")
	code := func(i, usual int) int {
		if len(codes) == 0 {
			return usual
		}
		return codes[min(i, len(codes)-1)]
	}
	switch {
	case claim.Off != "" && !suite.InForce(claim.By):
		return reply, suite.ExpectForwarded(ctx, reply, code(1, http.StatusOK), claim.Off)
	case claim.Want == Allow:
		return reply, suite.ExpectForwarded(ctx, reply, code(0, http.StatusOK), claim.By)
	}
	return reply, suite.ExpectDenied(ctx, reply, code(0, http.StatusForbidden), claim.By)
}

// send makes the call once. Tokens cost questions, of which an address has a share: who
// is told to come back does.
func send(ctx context.Context, port *Port, who Caller, call Call) Reply {
	GinkgoHelper()
	for {
		reply := must(port.Send(ctx, who, call))
		after, err := strconv.Atoi(reply.Header.Get("Retry-After"))
		if reply.Code != http.StatusTooManyRequests || err != nil || who.Token == "" {
			return reply
		}
		GinkgoWriter.Println("told to wait:", reply)
		select {
		case <-time.After(time.Duration(after) * time.Second):
		case <-ctx.Done():
			Fail("no answer but 429: " + reply.String())
		}
	}
}
