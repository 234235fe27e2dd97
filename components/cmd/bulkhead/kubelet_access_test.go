// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletaccess"
)

func TestKubeletAccess(t *testing.T) {
	client := fake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "scraper"}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"nodes/proxy"}, Verbs: []string{"get"},
			ResourceNames: []string{"worker-1"},
		}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "scraper"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "scraper"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "monitoring", Name: "prometheus"}},
		},
	)
	var table, text bytes.Buffer
	if err := printKubeletAccess(t.Context(), &table, client, "table"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ServiceAccount monitoring/prometheus", "get of worker-1", "scraper -> scraper",
		"exec (create nodes/exec), attach"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is not in\n%s", want, &table)
		}
	}
	if err := printKubeletAccess(t.Context(), &text, client, "json"); err != nil {
		t.Fatal(err)
	}
	var holders []kubeletaccess.Grantee
	if err := json.Unmarshal(text.Bytes(), &holders); err != nil || len(holders) != 1 || len(holders[0].Loses) != 9 {
		t.Errorf("%v in\n%s", err, &text)
	}
}
