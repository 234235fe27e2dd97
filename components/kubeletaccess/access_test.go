// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletaccess

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func role(name string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func rule(verb string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: resources, Verbs: []string{verb}}
}

func bind(name string, kind string, subject string) rbacv1.ClusterRoleBinding {
	return rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-for-" + subject},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: kind, Namespace: "monitoring", Name: subject}},
	}
}

func TestFind(t *testing.T) {
	onOne := rule("get", "nodes/proxy")
	onOne.ResourceNames = []string{"worker-1"}
	elsewhere := rule("get", "nodes/proxy")
	elsewhere.APIGroups = []string{"example.test"}
	got := Find(Objects{
		Roles: []rbacv1.ClusterRole{
			role("scraper", rule("get", "nodes/proxy")),
			role("metrics", rule("get", "nodes/metrics", "nodes/stats", "nodes")),
			role("admin", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}),
			role("execs", rule("create", "nodes/proxy", "nodes/exec")),
			role("one", onOne),
			role("elsewhere", elsewhere),
			role("stars", rule("get", "*/proxy")),
			role("reader", rule("list", "nodes/proxy")),
			role("strict", rule("create", "nodes/exec", "nodes/attach", "nodes/run", "nodes/portforward"),
				rule("get", "nodes/containerlogs", "nodes/debug", "nodes/metrics", "nodes/stats", "nodes/log")),
		},
		Bindings: []rbacv1.ClusterRoleBinding{
			bind("scraper", "ServiceAccount", "prometheus"), bind("metrics", "ServiceAccount", "metrics-server"),
			bind("admin", "Group", "admins"),
			bind("execs", "User", "alice"), bind("one", "User", "bob"), bind("elsewhere", "User", "carol"),
			bind("stars", "User", "dave"),
			bind("reader", "User", "erin"), bind("scraper", "User", "frank"), bind("strict", "User", "frank"),
			bind("gone", "User", "grace"),
			bind("scraper", "User", "bulkhead:kubelet-auth-proxy"),
		},
	})
	every := []string{"exec (create nodes/exec)", "attach (create nodes/attach)", "run (create nodes/run)",
		"portforward (create nodes/portforward)",
		"containerlogs (get nodes/containerlogs)", "debug (get nodes/debug)",
		"metrics through the API server (get nodes/metrics)", "stats through the API server (get nodes/stats)",
		"log through the API server (get nodes/log)"}
	want := []Grantee{
		{Subject: "Group admins", Bindings: []string{"admin-for-admins -> admin"}, Verbs: []string{"*"}, Wildcard: true,
			Loses: []string{}},
		{Subject: "ServiceAccount monitoring/prometheus", Bindings: []string{"scraper-for-prometheus -> scraper"},
			Verbs: []string{"get"}, Loses: every},
		{Subject: "User alice", Bindings: []string{"execs-for-alice -> execs"}, Verbs: []string{"create"}, Loses: every[1:4]},
		{Subject: "User bob", Bindings: []string{"one-for-bob -> one"}, Verbs: []string{"get"}, Nodes: []string{"worker-1"},
			Loses: every},
		{Subject: "User bulkhead:kubelet-auth-proxy",
			Bindings: []string{"scraper-for-bulkhead:kubelet-auth-proxy -> scraper"}, Verbs: []string{"get"}, Loses: []string{}},
		{Subject: "User dave", Bindings: []string{"stars-for-dave -> stars"}, Verbs: []string{"get"}, Loses: every},
		{Subject: "User erin", Bindings: []string{"reader-for-erin -> reader"}, Verbs: []string{"list"}, Loses: []string{}},
		{Subject: "User frank", Bindings: []string{"scraper-for-frank -> scraper"}, Verbs: []string{"get"},
			Loses: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
