// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// If the webhook call fails, kube-apiserver denies the request of a listed account.
func TestNodeScopeEntryDeniesOnFailure(t *testing.T) {
	configuration := loadAuthorization(t, AuthorizationNodeScope)
	if len(configuration.Authorizers) != 1 {
		t.Fatalf("%d authorizers: the installer takes all of them", len(configuration.Authorizers))
	}
	entry := configuration.Authorizers[0]
	type facts struct {
		Name, FailurePolicy, Timeout string
		Allows, Denials              bool
		Conditions                   int
	}
	got := facts{entry.Name, entry.Webhook.FailurePolicy, entry.Webhook.Timeout.Duration.String(),
		entry.Webhook.CacheAuthorizedRequests, entry.Webhook.CacheUnauthorizedRequests, len(entry.Webhook.MatchConditions)}
	if diff := cmp.Diff(facts{scopelist.EntryName, "Deny", "3s", false, false, 1}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The API server's code evaluates the condition, with one account in the list and with an empty
// list.
func TestNodeScopeEntryMatchesOnlyListedAccounts(t *testing.T) {
	const agent = "system:serviceaccount:monitoring:agent"
	listed, err := scopelist.Replace(scopelist.Authorization, read(t, AuthorizationNodeScope),
		[]scopelist.Account{{Namespace: "monitoring", Name: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		file []byte
		user string
		want bool
	}{
		{"a listed account matches", listed, agent, true},
		{"an account with a listed account's name as prefix does not match", listed, agent + "s", false},
		{"node-authorizer's own user does not match", listed, "bulkhead:node-authorizer", false},
		{"an empty user name does not match", listed, "", false},
		{"with an empty list an account does not match", read(t, AuthorizationNodeScope), agent, false},
		{"with an empty list an empty user name does not match", read(t, AuthorizationNodeScope), "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			matcher, errs := validation.ValidateAndCompileMatchConditions(authorizationcel.NewDefaultCompiler(),
				conditionsOf(t, tc.file))
			if err := errs.ToAggregate(); err != nil {
				t.Fatal(err)
			}
			got, err := matcher.Eval(t.Context(),
				&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: tc.user}})
			if err != nil || got != tc.want {
				t.Errorf("matches %v with error %v, want %v", got, err, tc.want)
			}
		})
	}
}

// For nodes and for accounts, the addresses and certificates are the same. Only the paths differ.
func TestNodeScopeUsesTheSameServersWithOtherPaths(t *testing.T) {
	open := func(name string) (server string, rest []string) {
		config, err := clientcmd.Load(read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		context := config.Contexts[config.CurrentContext]
		cluster, who := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
		return cluster.Server, []string{cluster.CertificateAuthority, who.ClientCertificate, who.ClientKey}
	}
	nodes, want := open(NodeAuthorizerKubeconfig)
	accounts, got := open(NodeScopeKubeconfig)
	if diff := cmp.Diff(want, got); diff != "" || accounts != nodes+"-scoped" {
		t.Errorf("%s and %s; (-want +got)\n%s", nodes, accounts, diff)
	}
	review, scope := *webhookOf(t, RegistrationHardened).ClientConfig.URL,
		*webhookOf(t, RegistrationNodeScope).ClientConfig.URL
	if strings.TrimSuffix(review, "review") != strings.TrimSuffix(scope, "node-scope") {
		t.Errorf("%s and %s", review, scope)
	}
	hardened := decode[*admissionregistrationv1.ValidatingWebhookConfiguration](t, RegistrationHardened)
	if mine := decode[*admissionregistrationv1.ValidatingWebhookConfiguration](t,
		RegistrationNodeScope); mine.Name == hardened.Name {
		t.Errorf("both are called %s: the API server does not start", mine.Name)
	}
}

// The installer creates the object that scope-sync writes. The object in the manifest is empty.
func TestScopeSyncWritesOneObject(t *testing.T) {
	memory := decode[*corev1.ConfigMap](t, "scope-sync/configmap.yaml")
	for _, rule := range decode[*rbacv1.Role](t, "scope-sync/role.yaml").Rules {
		if strings.Join(rule.ResourceNames, ",") != memory.Name {
			t.Errorf("it may %v %v called %v", rule.Verbs, rule.Resources, rule.ResourceNames)
		}
	}
	if len(memory.Data) > 0 {
		t.Errorf("there is %v in it: every installation would put that back", memory.Data)
	}
}

// conditionsOf returns the match conditions of the first authorizer in a file.
func conditionsOf(t *testing.T, file []byte) []apiserver.WebhookMatchCondition {
	t.Helper()
	configuration, err := load.LoadFromData(file)
	if err != nil {
		t.Fatal(err)
	}
	return configuration.Authorizers[0].Webhook.MatchConditions
}
