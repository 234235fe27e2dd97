// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// impersonated returns the user and groups that the owner of a token impersonates.
type impersonated func() (user string, groups []string)

func asAnybody(groups ...string) impersonated {
	return func() (string, []string) { return "anybody", groups }
}

func asNodeOf(where place) impersonated {
	return func() (string, []string) { return "system:node:" + where(), nil }
}

// amongNodes also names the group. Legacy impersonation adds no group that the request does not
// name.
func amongNodes(where place) impersonated {
	return func() (string, []string) { return "system:node:" + where(), []string{"system:nodes"} }
}

func asAccount(name string) impersonated {
	return func() (string, []string) { return "system:serviceaccount:" + stage.Namespace + ":" + name, nil }
}

// inTheNameOf makes a request with the credentials of who while it impersonates whom. It returns
// the API server's answer.
func inTheNameOf(ctx context.Context, who *Identity, whom impersonated, r Request) (int, string) {
	GinkgoHelper()
	user, groups := whom()
	code, message, err := who.Impersonating(user, groups...).Send(ctx, r)
	Expect(err).NotTo(HaveOccurred())
	return code, message
}

// needsConstrained skips a spec where the API server supports only legacy impersonation. Only
// constrained impersonation has a verb for the caller's own node.
func needsConstrained(ctx context.Context) {
	GinkgoHelper()
	metrics := string(must(suite.Client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)))
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, `kubernetes_feature_enabled{name="ConstrainedImpersonation"`) &&
			strings.HasSuffix(strings.TrimSpace(line), " 1") {
			return
		}
	}
	Skip("the API server's feature gate ConstrainedImpersonation (KEP-5284) is off")
}

// ownNodesPods is a node's request for its own pods.
func ownNodesPods(where place) RequestFunc { return onNode(where, List(api.Pods)) }

// RBAC allows every account of the stage to impersonate every user. Impersonation of another user
// would escape every scope. Impersonation of the own node does not (KEP-5284).
var _ = Describe("impersonation", Attack("T25"), func() {
	DescribeTable("by an account without a scope is allowed:", AllowsBy("NS-IMPERSONATE-1", Behind),
		func(ctx SpecContext, whom impersonated, makeRequest RequestFunc) {
			code, message := inTheNameOf(ctx, podOf(plain)(), whom, makeRequest(ctx, suite.Env()))
			Expect(code).To(Equal(http.StatusOK), message)
		},
		Entry("of an administrator", asAnybody("system:masters"), plainly(List(api.Secrets))),
		Entry("of another account", asAccount(plain), plainly(List(api.Secrets))),
		Entry("of its own node", amongNodes(own), ownNodesPods(own)),
		Entry("of another node", amongNodes(other), ownNodesPods(other)),
	)

	DescribeTable("by an account with a scope is denied:", Denies("NS-IMPERSONATE-1"),
		func(ctx SpecContext, who actor, whom impersonated, makeRequest RequestFunc) {
			code, message := inTheNameOf(ctx, who(), whom, makeRequest(ctx, suite.Env()))
			Expect(code).To(Equal(http.StatusForbidden), message)
			Expect(message).To(ContainSubstring("[NS-IMPERSONATE-1]"))
		},
		Entry("of an administrator", podOf(agent), asAnybody("system:masters"), plainly(List(api.Secrets))),
		Entry("of another account", podOf(agent), asAccount(plain), plainly(List(api.Secrets))),
		Entry("of its own account", podOf(agent), asAccount(agent), plainly(List(api.Deployments))),
		Entry("of another node", podOf(agent), asNodeOf(other), ownNodesPods(other)),
		Entry("of an unprivileged user", podOf(agent), asAnybody(), plainly(GetPath("/version"))),
		Entry("of another account, with a scope of other resources", podOf(statuses), asAccount(plain),
			plainly(List(api.Secrets))),
		Entry("of another account, with a scope from the pod's annotation", podOf(shared+"-"+narrow), asAccount(plain),
			plainly(List(api.Secrets))),
	)

	It("by an account with a scope of its own node is allowed, and gives the rights of that node",
		Allows("NS-IMPERSONATE-1"), func(ctx SpecContext) {
			needsConstrained(ctx)
			code, message := inTheNameOf(ctx, podOf(agent)(), asNodeOf(own), ownNodesPods(own)(ctx, suite.Env()))
			Expect(code).To(Equal(http.StatusOK), message)
			code, message = inTheNameOf(ctx, podOf(agent)(), asNodeOf(own), ownNodesPods(other)(ctx, suite.Env()))
			Expect(code).To(Equal(http.StatusForbidden), message)
			Expect(message).To(ContainSubstring("system:node:"+own()), "it is the node that is refused")
		})

	It("by a pod without a scope, whose account has another pod with a scope, is allowed", Allows("NS-PASS-1"),
		func(ctx SpecContext) {
			code, message := inTheNameOf(ctx, podOf(shared)(), asAccount(plain), plainly(List(api.Secrets))(ctx, suite.Env()))
			Expect(code).To(Equal(http.StatusOK), message)
		})
})
