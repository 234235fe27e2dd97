// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// scopedAgent is the token of a pod on the worker whose account has a node scope, and the account.
type scopedAgent struct {
	*Identity
	account *corev1.ServiceAccount
}

// startScopedAgent creates the account and its pod, and waits until the scope is in force.
func startScopedAgent(ctx context.Context, name string) scopedAgent {
	GinkgoHelper()
	env := suite.Env()
	namespace := env.Namespace(ctx)
	account := fixtures.ServiceAccount(namespace, name)
	account.Annotations = map[string]string{nodescope.ScopeAnnotation: "pods"}
	env.Put(ctx, account)
	pod := env.Pod(ctx, suite.Worker, fixtures.As(name))
	request, err := suite.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: fixtures.TokenRequest(pod).Spec}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	token, err := suite.ReadToken(ctx, request.Status.Token)
	Expect(err).NotTo(HaveOccurred())
	env.Grant(ctx, token.User, rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""},
		Resources: []string{"pods"}})
	Eventually(ctx, func() (bool, error) { return scopeInForce(ctx, namespace, name) }).
		WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(BeTrue())
	return scopedAgent{Identity: suite.AsBearer(token), account: account}
}

func (a scopedAgent) user() string {
	return "system:serviceaccount:" + a.account.Namespace + ":" + a.account.Name
}

// podsOfOtherNode lists pods that are outside the scope of the agent.
func podsOfOtherNode() Request { return List(api.Pods).Where("spec.nodeName=" + suite.ControlPlane) }

func (a scopedAgent) expectPodsOfOtherNode(ctx context.Context) {
	GinkgoHelper()
	code, message, err := a.Send(ctx, podsOfOtherNode())
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(Equal(http.StatusOK), message)
}

// keepInAudit follows the remedy of bulkhead audit: the scope of this account is not enforced yet.
func (a scopedAgent) keepInAudit(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, asAdmin+fmt.Sprintf("kubectl -n %s annotate serviceaccount %s %s=audit",
		a.account.Namespace, a.account.Name, nodescope.ModeAnnotation))
}

// staleToken returns the account's token as it was issued two hours ago, extended to a year.
func staleToken(ctx context.Context, account Bearer) string {
	GinkgoHelper()
	return suite.ReissueToken(ctx, account.Token, func(claims map[string]any) {
		issued := time.Now().Add(-2 * time.Hour)
		claims["iat"], claims["nbf"] = issued.Unix(), issued.Unix()
		claims["exp"] = issued.AddDate(1, 0, 0).Unix()
		kubernetes, ok := claims["kubernetes.io"].(map[string]any)
		Expect(ok).To(BeTrue(), fmt.Sprint(claims))
		kubernetes["warnafter"] = issued.Add(time.Hour).Unix()
	})
}

func expectStaleTokenWorks(ctx context.Context, token string) {
	GinkgoHelper()
	_, err := suite.ReadToken(ctx, token)
	Expect(err).NotTo(HaveOccurred())
}

// expectExtendedTokens reads the flags of the running kube-apiserver. The token of [staleToken] would be
// valid with any of them: they only decide what the next tokens are.
func expectExtendedTokens(ctx context.Context) {
	GinkgoHelper()
	Expect(suite.OnControlPlane(ctx, `tr '\0' '\n' </proc/$(pgrep -x kube-apiserver)/cmdline`)).To(And(
		ContainSubstring("--authorization-config="),
		Not(ContainSubstring("--service-account-extend-token-expiration=false"))))
}

// bindSystemNode gives every node the rights of every node, as clusters do that are older than the Node
// authorizer (seed 000).
func bindSystemNode(ctx context.Context) {
	GinkgoHelper()
	setSystemNode(ctx, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: user.NodesGroup})
	DeferCleanup(func(ctx context.Context) { setSystemNode(ctx) })
}

// setSystemNode sets the subjects of the ClusterRoleBinding system:node. kubeadm leaves it without any.
func setSystemNode(ctx context.Context, subjects ...rbacv1.Subject) {
	GinkgoHelper()
	bindings := suite.Client.RbacV1().ClusterRoleBindings()
	binding, err := bindings.Get(ctx, "system:node", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	binding.Subjects = subjects
	_, err = bindings.Update(ctx, binding, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// unrelatedSecret reads a secret that exists and that no pod uses.
func unrelatedSecret(ctx context.Context) Request {
	GinkgoHelper()
	env := suite.Env()
	namespace, name := env.Namespace(ctx), env.NewName("unrelated")
	env.Put(ctx, fixtures.Secret(namespace, name))
	return Get(api.Secrets).In(namespace).Named(name)
}
