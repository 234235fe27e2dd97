// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Credential is what the attacker has. Real is the credential that the rules apply to. Unprotected
// has the same rights, and no rule applies to it.
type Credential struct {
	Words             string
	Real, Unprotected func(context.Context, *Run, []rbacv1.PolicyRule) *Identity
}

// kubelet is the attacker who is root on the worker. Without protection means RBAC only: a pod on the
// worker whose account is bound to the ClusterRole system:node, which all nodes were bound to before
// the Node authorizer existed. Its token is real, and no authorizer treats it as a node.
var kubelet = Credential{
	Words: "the client certificate of the worker's kubelet, from the worker's host",
	Real: func(ctx context.Context, r *Run, _ []rbacv1.PolicyRule) *Identity {
		GinkgoHelper()
		if why := suite.Host.Missing(); why != "" {
			r.Say("The node is impersonated: %s.", why)
			return suite.AsNode(r.Attacker())
		}
		who, err := suite.RealKubelet(ctx, r.Attacker())
		Expect(err).NotTo(HaveOccurred())
		r.Say("The attacker is root on %s and has the certificate of its kubelet.", r.Attacker())
		return who.From(suite.FromHost(r.Attacker()))
	},
	Unprotected: byRBAC,
}

// machine is the attacker who is root on a machine with the Node [Env.Own], on which no kubelet runs. It
// is for attacks that destroy a Node. The cluster issued its certificate as it does for a kubelet.
var machine = Credential{
	Words: "the client certificate of a node, issued by the cluster",
	Real: func(ctx context.Context, r *Run, _ []rbacv1.PolicyRule) *Identity {
		GinkgoHelper()
		who, err := suite.Certified(ctx, r.Own)
		Expect(err).NotTo(HaveOccurred())
		r.Say("The attacker has the certificate of node %s.", r.Own)
		if suite.Host.Missing() != "" {
			return who
		}
		return who.From(suite.FromHost(r.Attacker()))
	},
	Unprotected: byRBAC,
}

// byRBAC returns the identity with the rights that nodes had by RBAC.
func byRBAC(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	who := podOf(ctx, before)
	r.Bind(ctx, who.User, "system:node")
	if len(rights) > 0 {
		r.Grant(ctx, who.User, rights...)
	}
	r.Say("The attacker has the rights that nodes had by RBAC: pod %s, account bound to system:node.", before)
	return who
}

// daemon is the attacker who broke into the pod of a DaemonSet on the worker. Without protection
// means that the account has no annotation.
var daemon = Credential{
	Words: "the token of a DaemonSet's pod on the worker, from inside the pod",
	Real: func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		GinkgoHelper()
		r.Say("The attacker is in a pod on %s. Its account has a node scope.", r.Attacker())
		return granted(ctx, r, scoped, rights)
	},
	Unprotected: func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		GinkgoHelper()
		r.Say("The attacker is in a pod on %s. Its account has no node scope.", r.Attacker())
		return granted(ctx, r, plain, rights)
	},
}

func granted(ctx context.Context, r *Run, account string, rights []rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	who := podOf(ctx, account)
	if len(rights) > 0 {
		r.Grant(ctx, who.User, rights...)
	}
	return who
}

// ofAccount is a credential of a DaemonSet's account. The account has a node scope, or without
// protection none.
func ofAccount(words string, take func(context.Context, *Run, string, []rbacv1.PolicyRule) *Identity) Credential {
	of := func(account string) func(context.Context, *Run, []rbacv1.PolicyRule) *Identity {
		return func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
			GinkgoHelper()
			return take(ctx, r, account, rights)
		}
	}
	return Credential{Words: words, Real: of(scoped), Unprotected: of(plain)}
}

// clientOfKubelets is the pod of the account [plain], whose calls to a kubelet leave from it. The protection
// is at the kubelet, so it has the same credential without it.
func clientOfKubelets(words, says string) Credential {
	take := func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		GinkgoHelper()
		r.Say("%s", says)
		r.callFromPod()
		return granted(ctx, r, plain, rights)
	}
	return Credential{Words: words, Real: take, Unprotected: take}
}

// right is one rule of RBAC.
func right(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: verbs, Resources: resources}
}
