// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	roleBindings = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
	signers      = certificatesv1.SchemeGroupVersion.WithResource("signers")
)

// boundToken requests a token that is bound to a pod of the stage. The edits change the reference
// to the pod.
func boundToken(account, pod string, edits ...func(*authenticationv1.BoundObjectReference)) RequestFunc {
	return func(context.Context, *Env) Request {
		ref := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: stage.UIDs[pod]}
		for _, edit := range edits {
			edit(ref)
		}
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: ref}}
		return Create(api.ServiceAccounts).In(stage.Namespace).Named(account).Sub("token").With(request)
	}
}

func toKind(kind string, name string) func(*authenticationv1.BoundObjectReference) {
	return func(ref *authenticationv1.BoundObjectReference) { ref.Kind, ref.Name, ref.UID = kind, name, "" }
}

func withoutUID(ref *authenticationv1.BoundObjectReference) { ref.UID = "" }

// newSecret creates a secret of a type. If the type is a service account token, the secret gets a
// token of an account.
func newSecret(of corev1.SecretType) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		secret := fixtures.Secret(stage.Namespace, e.NewName("secret"))
		if secret.Type = of; of == corev1.SecretTypeServiceAccountToken {
			secret.StringData, secret.Annotations = nil, map[string]string{corev1.ServiceAccountNameKey: plain}
		}
		return Create(api.Secrets).In(stage.Namespace).With(secret)
	}
}

// newRoleBinding binds a role to an account without a scope.
func newRoleBinding(_ context.Context, e *Env) Request {
	binding := &rbacv1.RoleBinding{
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: stage.Namespace, Name: plain}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	binding.Name = e.NewName("binding")
	return Create(roleBindings).In(stage.Namespace).With(binding)
}

func signer(verb string) RequestFunc {
	return plainly(Ask(verb, signers).Named(certificatesv1.KubeAPIServerClientSignerName))
}

// small has every right in RBAC, and a scope of nodes only. All writes here are dry runs. The API
// server authorizes and admits a dry run like any other write.
var _ = Describe("an account with a scope that names no tokens", Attack("T4"), func() {
	DescribeTable("requests tokens:", decide,
		Entry("of its own account for its own pod", Allows("NS-TOKEN-1"), podOf(small), boundToken(small, small)),
		Entry("of another account of a pod on its node", Allows("NS-TOKEN-1"), podOf(small), boundToken(plain, plain)),
		Entry("of a cluster-admin account in kube-system", Denies("NS-TOKEN-1"), podOf(small),
			unboundToken(metav1.NamespaceSystem, "clusterrole-aggregation-controller"), "[NA-SA-2]"),
		Entry("of an account without pods on its node", Denies("NS-TOKEN-1"), podOf(small+onOther), boundToken(plain, plain),
			"[NA-SA-2]"),
		Entry("of any account, without a scope", AllowsBy("NS-TOKEN-1", Behind), podOf(plain),
			unboundToken(metav1.NamespaceSystem, "clusterrole-aggregation-controller")),
		Entry("of another account with a pod's annotation alone", Denies("NS-TOKEN-1"), podOf(shared+"-"+narrow),
			unboundToken(metav1.NamespaceSystem, "clusterrole-aggregation-controller"), "[NA-SA-2]"),
	)

	DescribeTable("gets tokens:", admit,
		Entry("for its own pod", Allows("NS-TOKEN-2"), podOf(small), boundToken(small, small)),
		Entry("for a pod of another account on its node", Allows("NS-TOKEN-2"), podOf(small), boundToken(plain, plain)),
		Entry("for the pod of its DaemonSet on that pod's node", Allows("NS-TOKEN-2"), podOf(small+onOther),
			boundToken(small, small+onOther)),
		Entry("none for the pod of its DaemonSet on another node", Denies("NS-TOKEN-2"), podOf(small),
			boundToken(small, small+onOther),
			"is not on node"),
		Entry("none of its account for a pod of another account", Denies("NS-TOKEN-2"), podOf(small),
			boundToken(small, plain),
			"does not run as"),
		Entry("none that is not bound", Denies("NS-TOKEN-2"), podOf(small),
			named(small, Create(api.ServiceAccounts).Sub("token").With(&authenticationv1.TokenRequest{})),
			"spec.boundObjectRef"),
		Entry("none that is bound to a secret", Denies("NS-TOKEN-2"), podOf(small),
			boundToken(small, small, toKind("Secret", ofOwnNode)), "spec.boundObjectRef"),
		Entry("none that is bound to its Node", Denies("NS-TOKEN-2"), podOf(small),
			boundToken(small, small, func(ref *authenticationv1.BoundObjectReference) {
				toKind("Node", own())(ref)
			}), "spec.boundObjectRef"),
		Entry("none without the UID of its pod", Denies("NS-TOKEN-2"), podOf(small), boundToken(small, small, withoutUID),
			"spec.boundObjectRef"),
		Entry("none for a deleted pod of the same name", Denies("NS-TOKEN-2"), podOf(small),
			boundToken(small, small, func(ref *authenticationv1.BoundObjectReference) {
				ref.UID = types.UID("11111111-1111-1111-1111-111111111111")
			}), "UID"),
		Entry("for a pod on another node, without a scope", Allows("NS-TOKEN-2"), podOf(plain),
			boundToken(small, small+onOther)),
	)

	DescribeTable("writes secrets:", admit,
		Entry("an opaque secret", Allows("NS-TOKEN-3"), podOf(small), newSecret(corev1.SecretTypeOpaque)),
		Entry("no secret that the token controller fills", Denies("NS-TOKEN-3"), podOf(small),
			newSecret(corev1.SecretTypeServiceAccountToken)),
		Entry("no token with which a machine joins", Denies("NS-TOKEN-3"), podOf(small),
			newSecret(corev1.SecretTypeBootstrapToken)),
		Entry("a token with which a machine joins, without a scope", Allows("NS-TOKEN-3"), podOf(plain),
			newSecret(corev1.SecretTypeBootstrapToken)),
		Entry("a secret that the token controller fills, without a scope", Allows("NS-TOKEN-3"), podOf(plain),
			newSecret(corev1.SecretTypeServiceAccountToken)),
	)

	DescribeTable("grants rights:", decide,
		Entry("does not bind a role", Denies("NS-GRANT-1"), podOf(small), RequestFunc(newRoleBinding)),
		Entry("does not change a role", Denies("NS-GRANT-1"), podOf(small),
			plainly(Patch(clusterRoles).Named("view").With(fields{}))),
		Entry("does not sign for the API server's signer", Denies("NS-GRANT-1"), podOf(small), signer("sign")),
		Entry("does not approve for the API server's signer", Denies("NS-GRANT-1"), podOf(small), signer("approve")),
		Entry("reads roles", AllowsBy("NS-GRANT-1", "NS-PASS-1"), podOf(small), plainly(List(clusterRoles))),
		Entry("binds a role, without a scope", AllowsBy("NS-GRANT-1", Behind), podOf(plain), RequestFunc(newRoleBinding)),
	)

	It("uses a token that it requested for its own pod like its own token", Allows("NS-TOKEN-2"), func(ctx SpecContext) {
		client := must(podOf(small)().Client())
		request := fixtures.TokenRequest(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: small, UID: stage.UIDs[small]}})
		made := must(client.CoreV1().ServiceAccounts(stage.Namespace).CreateToken(ctx, small, request,
			metav1.CreateOptions{}))
		again := suite.AsBearer(must(suite.ReadToken(ctx, made.Status.Token)))
		expectPassed(ctx, again, theNode(own, Get(api.Nodes))(ctx, suite.Env()), "NS-NODE-1")
		suite.ExpectForbidden(ctx, again, theNode(other, Get(api.Nodes))(ctx, suite.Env()), "NS-NODE-1", "[NA-NODE-1]")
	})
})

// Kubernetes limits a namespace name to 63 characters, and an account name to 253.
var _ = DescribeTable("an account whose name has a label of more than 63 characters", decide,
	Entry("gets its own Node", Allows("NS-NODE-1"), podOf(long), theNode(own, Get(api.Nodes))),
	Entry("does not get another Node", Denies("NS-NODE-1"), podOf(long), theNode(other, Get(api.Nodes)), "[NA-NODE-1]"),
	Entry("lists a resource outside of its scope", AllowsBy("NS-IDENT-1", "NS-PASS-1"), podOf(long),
		plainly(List(api.Deployments))),
)

// A token must be valid as soon as its pod exists, even if a lookup of a pod with that name failed
// just before.
var _ = It("the token of a pod that replaces a pod of the same name is valid at once", Allows("NS-IDENT-3"),
	func(ctx SpecContext) {
		name := suite.Env().NewName(shortLived)
		for range 3 {
			pod := shortLivedPod(ctx, name)
			b := shortLivedToken(ctx, pod)
			suite.ExpectAllowed(ctx, suite.AsBearer(b), ownPods(ctx, suite.Env()), Behind)
			removeInPeace(ctx, pod)
			_, err := suite.Review(ctx, suite.AsForged(b), ownPods(ctx, suite.Env()))
			Expect(err).NotTo(HaveOccurred())
		}
	})

// A scope of nodes, or of a subresource of nodes, also limits what the kubelet's port returns.
var _ = DescribeTable("a scope that names nodes", decide,
	Entry("proxy of the own Node: allowed", Allows("NS-NODE-3"), podOf(small),
		theNode(own, Ask("get", api.Nodes).Sub("proxy"))),
	Entry("proxy of another Node: denied", Denies("NS-NODE-3"), podOf(small), theNode(other, Get(api.Nodes).Sub("proxy")),
		"only of its own node"),
	Entry("POST to the proxy of another Node: denied", Denies("NS-NODE-3"), podOf(small),
		theNode(other, Create(api.Nodes).Sub("proxy")), "only of its own node"),
	Entry("proxy of another Node with a port: denied", Denies("NS-NODE-3"), podOf(small),
		forNode(other, func(node string) Request { return Get(api.Nodes).Named(node + ":10250").Sub("proxy") }),
		"only of its own node"),
	Entry("status of another Node: denied", Denies("NS-NODE-2"), podOf(small),
		theNode(other, Patch(api.Nodes).Sub("status").With(unwell)), "only of its own node"),
	Entry("status of another Node, with a scope of nodes without subresources: left to RBAC", Allows("NS-PASS-1"),
		podOf(alone),
		theNode(other, Patch(api.Nodes).Sub("status").With(unwell))),
	Entry("proxy of another Node, with a scope of nodes without subresources: left to RBAC", Allows("NS-PASS-1"),
		podOf(alone), theNode(other, Ask("get", api.Nodes).Sub("proxy"))),
)

// The kubelet, or kubelet-auth-proxy in front of it, sends the claims of the token in its review to
// the API server. So node scope can decide.
var _ = Describe("a scraper's token at the kubelets' ports", Label(OnHardened), func() {
	get := func(ctx context.Context, node, pod, path string) (int, KubeletLine) {
		GinkgoHelper()
		who := Account(stage.Namespace, strings.TrimSuffix(pod, onOther), bearerOf(pod).Token)
		reply := must(must(suite.KubeletPort(ctx, node)).Send(ctx, who, Calling("GET", path)))
		var lines []KubeletLine
		// The proxy writes lines asynchronously. It may write one at the begin of an allowed request, too.
		Eventually(ctx, func() (_ []KubeletLine, err error) {
			lines, err = suite.KubeletAudited(ctx, reply)
			lines = slices.DeleteFunc(lines, func(line KubeletLine) bool { return line.Stage == "begin" })
			return lines, err
		}).WithTimeout(Soon).WithPolling(100*time.Millisecond).ShouldNot(BeEmpty(), reply.String())
		return reply.Code, lines[len(lines)-1]
	}
	for _, path := range []string{"/metrics/resource", "/stats/summary", "/configz", "/pods"} {
		It("reads "+path+" of its own node", Allows("NS-NODE-3"), func(ctx SpecContext) {
			code, _ := get(ctx, own(), small, path)
			Expect(code).To(Equal(200))
		})
		It("does not read "+path+" of another, which its sibling there reads", Denies("NS-NODE-3"), func(ctx SpecContext) {
			code, line := get(ctx, other(), small, path)
			Expect(code).To(Equal(403))
			Expect(line.Cause).To(ContainSubstring("[NS-NODE-3]"))
			code, _ = get(ctx, other(), small+onOther, path)
			Expect(code).To(Equal(200))
		})
	}
})

// unboundToken requests a token of an account that is not bound to an object.
func unboundToken(namespace, account string) RequestFunc {
	return func(context.Context, *Env) Request {
		return Create(api.ServiceAccounts).In(namespace).Named(account).Sub("token").With(&authenticationv1.TokenRequest{})
	}
}
