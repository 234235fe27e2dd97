// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/why"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// The programs for [askWhy].
const (
	asProgram = "bulkhead"
	// asPlugin runs bulkhead as a plugin of kubectl.
	asPlugin = `plugins=$(mktemp -d) && trap 'rm -rf "$plugins"' EXIT &&
ln -s "$(command -v bulkhead)" "$plugins/kubectl-bulkhead" && PATH=$plugins:$PATH kubectl bulkhead`
)

// askWhy asks the cluster for the reason of a node's request for a secret. It returns the answer and
// the exit code.
func askWhy(ctx SpecContext, program, node, namespace, secret string) (answer why.Answer, code int) {
	GinkgoHelper()
	out := suite.OnControlPlane(ctx, fmt.Sprintf("out=$(%s why --kubeconfig=/etc/kubernetes/admin.conf -o json "+
		"system:node:%s get secrets %s -n %s); echo $?; echo \"$out\"", program, node, secret, namespace))
	first, rest, _ := strings.Cut(out, "\n")
	code, err := strconv.Atoi(first)
	Expect(err).NotTo(HaveOccurred(), out)
	Expect(json.Unmarshal([]byte(rest), &answer)).To(Succeed(), out)
	return answer, code
}

// expectWhyDenied asks about the secret of a pod on the other node.
func expectWhyDenied(ctx SpecContext, program string) why.Answer {
	GinkgoHelper()
	env := suite.Env()
	request := used(other, aSecret, fixtures.WithSecret, named(Get(api.Secrets)))(ctx, env)
	answer, code := askWhy(ctx, program, env.Own, request.Namespace, request.Name)
	Expect(code).To(Equal(2))
	Expect(answer.Outcome).To(Equal(why.Denied))
	Expect(answer.Rules).NotTo(BeEmpty())
	Expect(string(answer.Rules[0].ID)).To(Equal("NA-SECRET-1"))
	return answer
}

// rightsForWhy returns the rights of the ClusterRole in manifests/why.
func rightsForWhy() []rbacv1.PolicyRule {
	GinkgoHelper()
	data, err := manifests.FS.ReadFile("why/clusterrole.yaml")
	Expect(err).NotTo(HaveOccurred())
	var role rbacv1.ClusterRole
	Expect(yaml.UnmarshalStrict(data, &role)).To(Succeed())
	return role.Rules
}

// The answer comes from the running cluster: the decision from its authorizers, the path from its
// objects.
var _ = Describe("bulkhead why", Serial, Label(OnHost, OnHardened), func() {
	It("names the rule, and the pods on other nodes that use the secret", Denies("NA-SECRET-1"),
		func(ctx SpecContext) {
			answer, env := expectWhyDenied(ctx, asProgram), suite.Env()
			Expect(answer.Path.Related).To(BeFalse())
			Expect(answer.Path.Elsewhere).To(ContainElement(HavePrefix("node " + env.Other + " <- pod ")))
			Expect(answer.View).NotTo(BeEmpty())
			for _, view := range answer.View {
				Expect(view.Unknown).To(BeEmpty())
				Expect(view.Seconds).To(And(BeNumerically(">", 0), BeNumerically("<", 300)), view.Resource)
			}
		})

	It("names the path from the node to the secret", Allows("NA-SECRET-1"), func(ctx SpecContext) {
		env := suite.Env()
		request := used(own, aSecret, fixtures.WithSecret, named(Get(api.Secrets)))(ctx, env)
		answer, code := askWhy(ctx, asProgram, env.Own, request.Namespace, request.Name)
		Expect(code).To(BeZero())
		Expect(answer.Outcome).To(Equal(why.Allowed))
		Expect(string(answer.Rules[0].ID)).To(Equal("NA-SECRET-1"))
		Expect(answer.Path.Related).To(BeTrue())
		Expect(answer.Path.Here).To(ContainElement(HavePrefix("node " + env.Own + " <- pod ")))
	})

	It("answers as a plugin of kubectl", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		expectWhyDenied(ctx, asPlugin)
	})

	It("answers a user who has only the rights of manifests/why", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		env := suite.Env()
		user := env.AccountToken(ctx)
		env.Grant(ctx, user.User, rightsForWhy()...)
		client, err := env.AsBearer(user).Client()
		Expect(err).NotTo(HaveOccurred())
		request := used(other, aSecret, fixtures.WithSecret, named(Get(api.Secrets)))(ctx, env)
		asked := &why.Request{Verb: "get", Resource: "secrets", Version: "v1", Namespace: request.Namespace,
			Name: request.Name}
		Expect(asked.As("system:node:"+env.Own, why.Identity{})).To(Succeed())
		answer, err := why.Asker{Client: client}.Ask(ctx, asked)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Outcome).To(Equal(why.Denied))
		Expect(answer.Rules).NotTo(BeEmpty())
		Expect(string(answer.Rules[0].ID)).To(Equal("NA-SECRET-1"))
		Expect(answer.Path.Unknown).To(BeEmpty())
		Expect(answer.Path.Elsewhere).To(ContainElement(HavePrefix("node " + env.Other + " <- pod ")))

		code, message, err := env.AsBearer(user).Send(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusForbidden), message)
	})

	It("explains what kubectl prints", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		answer := suite.WhyKubectlFails(ctx, suite.ControlPlane, "get secret e2e-none --namespace=default", "")
		Expect(answer.Outcome).To(Equal(why.Denied))
		Expect(answer.Rules).NotTo(BeEmpty())
		Expect(string(answer.Rules[0].ID)).To(Equal("NA-SECRET-1"))
	})
})
