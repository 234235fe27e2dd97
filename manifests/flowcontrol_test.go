// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

// The FlowSchema matches the user of each ClusterRoleBinding below, and no other user.
func TestFlowSchemaMatchesEveryComponent(t *testing.T) {
	schema := decode[*flowcontrolv1.FlowSchema](t, "flowcontrol/flowschema.yaml")
	if len(schema.Spec.Rules) != 1 {
		t.Fatalf("%d rules", len(schema.Spec.Rules))
	}
	var got []string
	for _, subject := range schema.Spec.Rules[0].Subjects {
		if subject.User == nil {
			t.Fatalf("it is for a %s", subject.Kind)
		}
		got = append(got, subject.User.Name)
	}
	var want []string
	for _, dir := range []string{"node-authorizer", "node-restriction", "kubelet-approver", "scope-sync"} {
		for _, subject := range decode[*rbacv1.ClusterRoleBinding](t, dir+"/clusterrolebinding.yaml").Subjects {
			want = append(want, subject.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("users (-bound +named)\n%s", diff)
	}
}

// With an exempt priority level, a bug in Bulkhead could overload the API server. With a higher
// precedence number, another FlowSchema could match first.
func TestFlowSchemaIsLimitedAndMatchesFirst(t *testing.T) {
	schema := decode[*flowcontrolv1.FlowSchema](t, "flowcontrol/flowschema.yaml")
	level := schema.Spec.PriorityLevelConfiguration.Name
	for _, suggested := range bootstrap.SuggestedPriorityLevelConfigurations {
		if suggested.Name == level && suggested.Spec.Type != flowcontrolv1.PriorityLevelEnablementLimited {
			t.Errorf("level %s is %s", level, suggested.Spec.Type)
		}
	}
	if level != "workload-high" ||
		schema.Spec.MatchingPrecedence >= bootstrap.SuggestedFlowSchemaSystemNodes.Spec.MatchingPrecedence {
		t.Errorf("level %s, precedence %d", level, schema.Spec.MatchingPrecedence)
	}
}

// The proxies of all nodes use one ServiceAccount. No other client uses their priority level. So
// the proxies do not delay other clients, and other clients do not delay the proxies.
func TestProxiesHaveASeparatePriorityLevel(t *testing.T) {
	schema := decode[*flowcontrolv1.FlowSchema](t, "kubelet-api/proxy-flowschema.yaml")
	level := decode[*flowcontrolv1.PriorityLevelConfiguration](t, "kubelet-api/proxy-prioritylevelconfiguration.yaml")
	if schema.Spec.PriorityLevelConfiguration.Name != level.Name ||
		level.Spec.Type != flowcontrolv1.PriorityLevelEnablementLimited {
		t.Errorf("level %s of %s is %s", level.Name, schema.Spec.PriorityLevelConfiguration.Name, level.Spec.Type)
	}
	for _, suggested := range bootstrap.SuggestedPriorityLevelConfigurations {
		if suggested.Name == level.Name {
			t.Errorf("level %s is Kubernetes' own", level.Name)
		}
	}
	if schema.Spec.MatchingPrecedence >= bootstrap.SuggestedFlowSchemaKubeSystemServiceAccounts.Spec.MatchingPrecedence {
		t.Errorf("precedence %d", schema.Spec.MatchingPrecedence)
	}
	var want []flowcontrolv1.Subject
	for _, subject := range decode[*rbacv1.ClusterRoleBinding](t, "kubelet-auth-proxy/clusterrolebinding.yaml").Subjects {
		want = append(want, flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount,
			ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Name: subject.Name, Namespace: subject.Namespace}})
	}
	if diff := cmp.Diff(want, schema.Spec.Rules[0].Subjects); diff != "" || len(schema.Spec.Rules) != 1 {
		t.Errorf("%d rules; subjects (-bound +named)\n%s", len(schema.Spec.Rules), diff)
	}
	// The level has few seats, lends most of them, and queues requests.
	if limited := level.Spec.Limited; *limited.NominalConcurrencyShares > 20 || *limited.LendablePercent < 50 ||
		limited.LimitResponse.Type != flowcontrolv1.LimitResponseTypeQueue {
		t.Errorf("limits %+v", limited)
	}
}
