// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

const noAccounts = "request.userInfo.username in []"

func TestNodeScopeWebhookMatchesEveryWriteAndFailsClosed(t *testing.T) {
	w := webhookOf(t, RegistrationNodeScope)
	got := []string{w.Name, string(*w.FailurePolicy), string(*w.SideEffects), *w.ClientConfig.URL,
		strings.Join(w.AdmissionReviewVersions, ",")}
	want := []string{"node-scope.bulkhead.dev", "Fail", "None", "https://127.0.0.1:10463/node-scope", "v1"}
	if diff := cmp.Diff(want, got); diff != "" || *w.TimeoutSeconds > 2 {
		t.Errorf("timeout %d s; (-want +got)\n%s", *w.TimeoutSeconds, diff)
	}
	all := admissionregistrationv1.AllScopes
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE", "DELETE"},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"},
			Resources: []string{"*/*"}, Scope: &all},
	}}
	if diff := cmp.Diff(rules, w.Rules); diff != "" {
		t.Errorf("rules (-want +got)\n%s", diff)
	}
	if len(w.NamespaceSelector.MatchExpressions)+len(w.NamespaceSelector.MatchLabels)+
		len(w.ObjectSelector.MatchExpressions)+len(w.ObjectSelector.MatchLabels) > 0 {
		t.Error("who is held could choose labels")
	}
}

// scope-sync writes the list in the only condition. It compiles with more than 1,000 accounts.
func TestNodeScopeMatchesTheListedAccounts(t *testing.T) {
	w := webhookOf(t, RegistrationNodeScope)
	if len(w.MatchConditions) != 1 || !strings.HasSuffix(w.MatchConditions[0].Expression, noAccounts) {
		t.Fatalf("conditions: %+v", w.MatchConditions)
	}
	empty := matcherOf(t, w)
	listed := []string{"'system:serviceaccount:ns:agent'"}
	for i := range 1000 {
		listed = append(listed, fmt.Sprintf("'system:serviceaccount:namespace-%d:account-%d'", i, i))
	}
	w.MatchConditions[0].Expression = strings.Replace(w.MatchConditions[0].Expression, noAccounts,
		"request.userInfo.username in ["+strings.Join(listed, ", ")+"]", 1)
	filled := matcherOf(t, w)
	for _, tc := range []struct {
		name string
		want bool
	}{
		{"system:serviceaccount:ns:agent", true},
		{"system:serviceaccount:namespace-999:account-999", true},
		{"system:serviceaccount:ns:agents", false},
		{"system:serviceaccount:NS:agent", false},
		{"system:node:agent", false},
		{"", false},
	} {
		who := &user.DefaultInfo{Name: tc.name, Groups: []string{"system:serviceaccounts"}}
		if got := filled(who); got != tc.want {
			t.Errorf("%q matches %v, want %v", tc.name, got, tc.want)
		}
		if empty(who) {
			t.Errorf("%q matches as the file is shipped", tc.name)
		}
	}
}

func TestNodeScopeNeedsOnlyReadAccess(t *testing.T) {
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts", "pods"},
		Verbs: []string{"get", "list", "watch"}}}
	if diff := cmp.Diff(want,
		decode[*rbacv1.ClusterRole](t, "node-restriction-scope/clusterrole.yaml").Rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	binding := decode[*rbacv1.ClusterRoleBinding](t, "node-restriction-scope/clusterrolebinding.yaml")
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "bulkhead:node-restriction"}}
	if diff := cmp.Diff(subjects, binding.Subjects); diff != "" ||
		binding.RoleRef.Name != "bulkhead:node-restriction:node-scope" {
		t.Errorf("role %s, subjects (-want +got)\n%s", binding.RoleRef.Name, diff)
	}
}
