// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
)

func TestNodeScope(t *testing.T) {
	role := func(verb string, names ...string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "edit-accounts"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{verb},
				ResourceNames: names}}}
	}
	toAll := clusterBinding("wide", "ClusterRole", "edit-accounts", group("system:serviceaccounts"))
	for _, tc := range []struct {
		name     string
		flags    flags
		objects  []runtime.Object
		level    Level
		mentions string
	}{
		{"API server 1.37: supported", kubeadmFlags(), nil, OK, "from disk"},
		{"API server without static webhooks: not supported", kubeadmFlags("from-disk", "no"), nil, Fail,
			"install without --node-scope"},
		{"all accounts may write accounts: warning", kubeadmFlags(), []runtime.Object{role("patch"), toAll}, Warn,
			"ClusterRoleBinding wide"},
		{"all accounts may use every verb on accounts: warning", kubeadmFlags(), []runtime.Object{role("*"), toAll}, Warn,
			"ClusterRoleBinding wide"},
		{"all accounts may read accounts: no warning",
			kubeadmFlags(), []runtime.Object{role("get"), toAll}, OK, "no binding"},
		{"all accounts may write one account: no warning", kubeadmFlags(), []runtime.Object{role("patch", "one"), toAll}, OK,
			"no binding"},
		{"operators may write accounts: no warning", kubeadmFlags(),
			[]runtime.Object{role("patch"), clusterBinding("ops", "ClusterRole", "edit-accounts", group("ops"))}, OK,
			"no binding"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := fake.NewClientset(tc.objects...)
			client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.37.1"}
			in := Input{Profile: "hardened", Server: tc.flags, Client: client, NodeScope: true}
			got, err := scopeFindings(t.Context(), in)
			if err != nil || len(got) != 1 || got[0].Level != tc.level || !strings.Contains(got[0].Detail, tc.mentions) {
				t.Errorf("%v, %v", got, err)
			}
			in.NodeScope = false
			if got, err := scopeFindings(t.Context(), in); got != nil || err != nil {
				t.Errorf("without node scope: %v, %v", got, err)
			}
		})
	}
}
