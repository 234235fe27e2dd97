// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestBindings(t *testing.T) {
	binding := func(subject rbacv1.Subject) func(*testCluster) {
		return func(c *testCluster) {
			c.more = append(c.more, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "system:node"},
				RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "system:node"},
				Subjects: []rbacv1.Subject{subject}})
		}
	}
	group := rbacv1.Subject{Kind: "Group", Name: "system:nodes"}
	parity := func(c *testCluster) {
		for _, h := range c.entries {
			h.Profile = "parity"
		}
		binding(group)(c)
	}
	testRows(t, []row{
		{"system:node bound to all nodes", binding(group), []string{`soon|bindings||system:node gives Group "system:nodes"`}},
		{"the same in parity", parity, []string{`urgent|bindings||system:node gives Group "system:nodes"`}},
		{"all accounts may write ServiceAccounts", editors("bulkhead-scope-sync"),
			[]string{"soon|bindings|ClusterRoleBinding all|all accounts may write ServiceAccounts"}},
		{"the same without node scope", editors("other"), nil},
		{"no subject", func(c *testCluster) {
			binding(group)(c)
			c.more[0].(*rbacv1.ClusterRoleBinding).Subjects = nil
		}, nil},
	})
}

func editors(pod string) func(*testCluster) {
	return func(c *testCluster) {
		for _, node := range []string{"cp1", "cp2"} {
			c.addMirror(pod, "scope-sync", node, image)
		}
		c.more = append(c.more, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "edit-accounts"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts"},
				Verbs: []string{"patch"}}}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "all"},
				RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "edit-accounts"},
				Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:serviceaccounts"}}})
	}
}

func TestObjects(t *testing.T) {
	const role = "ClusterRole/bulkhead:node-authorizer"
	testRows(t, []row{
		{"deleted", func(c *testCluster) { delete(c.objects, role) },
			[]string{"urgent|objects|ClusterRole bulkhead:node-authorizer|the API lacks"}},
		{"changed", func(c *testCluster) {
			changed := c.objects[role].DeepCopy()
			_ = unstructured.SetNestedSlice(changed.Object, nil, "rules")
			c.objects[role] = changed
		}, []string{"urgent|objects|ClusterRole bulkhead:node-authorizer|these objects of Bulkhead are not"}},
		{"installed by another version", func(c *testCluster) {
			for _, h := range c.entries {
				h.Version = "v0"
			}
			delete(c.objects, role)
		}, []string{"soon|objects|objects|not checked: this program is version v1, but host cp1 has v0"}},
	})
}
