// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// mayReach returns a ClusterRole and its binding for a user.
func mayReach(user string, resources ...string) []runtime.Object {
	return []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: resources, Verbs: []string{"get"}}}},
		clusterBinding(user, "ClusterRole", user, rbacv1.Subject{Kind: "User", Name: user}),
	}
}

func TestPreflightListsSubjectsWithNodesProxy(t *testing.T) {
	var many []runtime.Object
	for i := range 12 {
		many = append(many, mayReach(fmt.Sprintf("agent-%02d", i), "nodes/proxy")...)
	}
	findings, err := kubeletFindings(t.Context(), Input{Client: fake.NewClientset(mayReach("agent", "nodes/proxy")...),
		GuardsKubelets: true, AuditOnly: true})
	if err != nil || len(findings) != 2 || !strings.Contains(findings[0].Detail, ": in mode enforce, nodes/proxy is not") {
		t.Errorf("mode audit: %v, %v", findings, err)
	}
	for _, tt := range []struct {
		name    string
		guards  bool
		objects []runtime.Object
		level   Level
		says    string
	}{
		{"agent with nodes/proxy is listed", true, mayReach("agent", "nodes/proxy"), Warn,
			"User agent, by agent -> agent: nodes/proxy is not enough for exec (create nodes/exec), "},
		{"agent with nodes/metrics is not listed", true, mayReach("agent", "nodes/metrics"), OK, "no user loses access"},
		{"API server's own user is not listed", true, mayReach("apiserver", "nodes/proxy"), OK,
			"no user loses access"},
		{"many are counted", true, many, Warn, "2 more: `bulkhead kubelet-access`"},
		{"kubelets are not protected: no check", false, mayReach("agent", "nodes/proxy"), "", ""},
	} {
		findings, err := kubeletFindings(t.Context(),
			Input{Client: fake.NewClientset(tt.objects...), GuardsKubelets: tt.guards, KubeletClient: "apiserver"})
		if err != nil {
			t.Fatal(err)
		}
		if tt.level == "" {
			if len(findings) > 0 {
				t.Errorf("%s: %v", tt.name, findings)
			}
			continue
		}
		said := false
		for _, f := range findings {
			said = said || strings.Contains(f.Detail, tt.says)
			if f.Level != tt.level {
				t.Errorf("%s: %v", tt.name, f)
			}
		}
		if !said || len(findings) > mostNamed+1 {
			t.Errorf("%s: %d findings, %v", tt.name, len(findings), findings)
		}
	}
}
