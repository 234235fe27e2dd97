// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// accountGroups are the groups of ServiceAccounts that are not limited to one namespace.
var accountGroups = []string{"system:serviceaccounts", "system:authenticated"}

// scopeFindings lists everything that would bypass node scope. A webhook in the API can be deleted.
// A binding can let all accounts write the annotation that scopes them.
func scopeFindings(ctx context.Context, in Input) ([]Finding, error) {
	if !in.NodeScope {
		return nil, nil
	}
	const check = "node scope"
	info, err := in.Client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking kube-apiserver for its version: %w", err)
	}
	if !in.Server.ReadsManifests(info.GitVersion) {
		return []Finding{{Fail, check,
			info.GitVersion + ": it takes no admission webhook from disk (it does from 1.37 on, unless the feature gate " +
				"ManifestBasedAdmissionControlConfig is off), and one that can be removed through the API would enforce nothing; " +
				"upgrade first, or install without --node-scope"}}, nil
	}
	editors, err := ScopeEditors(ctx, in.Client)
	if err != nil {
		return nil, err
	}
	if len(editors) > 0 {
		return []Finding{{Warn, check,
			strings.Join(editors, ", ") +
				": it allows every account to write ServiceAccounts, also one with a scope. Such an account cannot change its " +
				"own annotation, but an account without a scope can remove that of another; remove the binding"}}, nil
	}
	return []Finding{{OK, check,
		"kube-apiserver takes the webhook from disk, and no binding lets all accounts write ServiceAccounts"}}, nil
}

// ScopeEditors returns the bindings that let all ServiceAccounts write ServiceAccounts in the whole
// cluster, and so remove the node scope of another account.
func ScopeEditors(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	roles, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ClusterRoles: %w", err)
	}
	editing := map[string]bool{}
	for _, role := range roles.Items {
		editing[role.Name] = slices.ContainsFunc(role.Rules, writesAccounts)
	}
	bindings, err := client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing ClusterRoleBindings: %w", err)
	}
	var found []string
	for _, b := range bindings.Items {
		if editing[b.RoleRef.Name] && slices.ContainsFunc(b.Subjects, isAccountGroup) {
			found = append(found, "ClusterRoleBinding "+b.Name)
		}
	}
	return found, nil
}

func isAccountGroup(s rbacv1.Subject) bool {
	return s.Kind == rbacv1.GroupKind && slices.Contains(accountGroups, s.Name)
}

func writesAccounts(rule rbacv1.PolicyRule) bool {
	has := func(values []string, wanted ...string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return v == "*" || slices.Contains(wanted, v) })
	}
	return has(rule.APIGroups, "") && has(rule.Resources, "serviceaccounts") && has(rule.Verbs, "update", "patch") &&
		len(rule.ResourceNames) == 0
}
