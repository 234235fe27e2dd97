// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// Objects are the RBAC objects of a cluster.
type Objects struct {
	ClusterRoles        []rbacv1.ClusterRole
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
	Roles               []rbacv1.Role
	RoleBindings        []rbacv1.RoleBinding
}

// Grant is an RBAC rule that applies to an account.
type Grant struct {
	rbacv1.PolicyRule
	// Namespace is empty for a rule that applies in the whole cluster.
	Namespace string
}

// Granted returns the rules that RBAC grants to the account, by its name or by its groups.
//
// Source: k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go VisitRulesFor.
func (o Objects) Granted(account scopelist.Account) []Grant {
	var all []Grant
	for i := range o.ClusterRoleBindings {
		b := &o.ClusterRoleBindings[i]
		if isSubject(b.Subjects, "", account) {
			all = append(all, grants("", o.rules(b.RoleRef, ""))...)
		}
	}
	for i := range o.RoleBindings {
		b := &o.RoleBindings[i]
		if isSubject(b.Subjects, b.Namespace, account) {
			all = append(all, grants(b.Namespace, o.rules(b.RoleRef, b.Namespace))...)
		}
	}
	return all
}

func grants(namespace string, rules []rbacv1.PolicyRule) []Grant {
	var all []Grant
	for _, r := range rules {
		all = append(all, Grant{r, namespace})
	}
	return all
}

func (o Objects) rules(ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	if ref.Kind == "ClusterRole" {
		for i := range o.ClusterRoles {
			if o.ClusterRoles[i].Name == ref.Name {
				return o.ClusterRoles[i].Rules
			}
		}
		return nil
	}
	for i := range o.Roles {
		if o.Roles[i].Name == ref.Name && o.Roles[i].Namespace == namespace {
			return o.Roles[i].Rules
		}
	}
	return nil
}

func isSubject(subjects []rbacv1.Subject, namespace string, account scopelist.Account) bool {
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"}
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			return in == account.Namespace && s.Name == account.Name
		case rbacv1.GroupKind:
			return slices.Contains(groups, s.Name)
		case rbacv1.UserKind:
			return s.Name == "system:serviceaccount:"+account.Namespace+":"+account.Name
		}
		return false
	})
}
