// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestGranted(t *testing.T) {
	rule := func(resource string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	within := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	o := Objects{
		ClusterRoles: []rbacv1.ClusterRole{{ObjectMeta: named("a"), Rules: rule("a")},
			{ObjectMeta: named("b"), Rules: rule("b")}},
		Roles: []rbacv1.Role{{ObjectMeta: within("ns", "c"), Rules: rule("c")},
			{ObjectMeta: within("other", "c"), Rules: rule("not this one")}},
	}
	subjects := map[string]struct {
		subject rbacv1.Subject
		is      bool
	}{
		"the account":              {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ns", Name: "agent"}, true},
		"another account":          {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ns", Name: "other"}, false},
		"one of another namespace": {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "other", Name: "agent"}, false},
		"all accounts":             {rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts"}, true},
		"those of the namespace":   {rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:ns"}, true},
		"those of another one":     {rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:other"}, false},
		"everybody":                {rbacv1.Subject{Kind: "Group", Name: "system:authenticated"}, true},
		"its user name":            {rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:ns:agent"}, true},
		"another user":             {rbacv1.Subject{Kind: "User", Name: "agent"}, false},
	}
	for name, tc := range subjects {
		t.Run(name, func(t *testing.T) {
			o.ClusterRoleBindings = []rbacv1.ClusterRoleBinding{{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "a"},
				Subjects: []rbacv1.Subject{tc.subject}}}
			o.RoleBindings = []rbacv1.RoleBinding{
				{ObjectMeta: within("ns", "x"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "b"},
					Subjects: []rbacv1.Subject{tc.subject}},
				{ObjectMeta: within("ns", "y"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "c"},
					Subjects: []rbacv1.Subject{tc.subject}},
				{ObjectMeta: within("ns", "z"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "gone"},
					Subjects: []rbacv1.Subject{tc.subject}},
			}
			var want []Grant
			if tc.is {
				want = []Grant{{rule("a")[0], ""}, {rule("b")[0], "ns"}, {rule("c")[0], "ns"}}
			}
			if diff := cmp.Diff(want, o.Granted(agent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
