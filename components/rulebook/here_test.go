// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rulebook

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func entry(t *testing.T, mode, modes string) string {
	t.Helper()
	text, err := hosts.Host{Version: "v1", Profile: "hardened", Mode: mode, Image: "i", ConfigHash: "c", Modes: modes,
		Wiring: "w"}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// recorded reads the modes of a cluster with these entries.
func recorded(t *testing.T, entries map[string]string) (*Here, error) {
	t.Helper()
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: hosts.ConfigMapName}, Data: entries})
	return ReadHere(context.Background(), client.CoreV1().ConfigMaps(metav1.NamespaceSystem))
}

func TestModesOfACluster(t *testing.T) {
	one := map[string]string{"cp-1": entry(t, "enforce", "enforce, NA-CSR-1=off")}
	two := map[string]string{"cp-1": one["cp-1"], "cp-2": entry(t, "enforce", "enforce")}
	audit := map[string]string{"cp-1": entry(t, "audit", "enforce, NA-CSR-1=off")}
	for _, row := range []struct {
		name    string
		entries map[string]string
		rule    rules.ID
		want    string
	}{
		{"a mode of its own", one, "NA-CSR-1", "off"},
		{"the mode of all", one, "NA-POD-6", "enforce"},
		{"audited unless it is named", one, "NA-SECRET-3", "audit"},
		{"not optional", one, "NA-SECRET-1", "always"},
		{"configured", one, "NR-LABEL-1", "as configured"},
		{"hosts differ", two, "NA-CSR-1", "enforce on cp-2; off on cp-1"},
		{"an unreadable entry", map[string]string{"cp-1": one["cp-1"], "cp-2": "{"}, "NA-CSR-1", "off"},
		{"audit only", audit, "NA-SECRET-1", "audit (the installation only audits; in mode enforce: always)"},
		{"audit only, off", audit, "NA-CSR-1", "off"},
		{"audit only, revoked", audit, "NA-REVOKE-1", "enforce"},
		{"audit only, denied by the kubelet too", audit, "KA-AUTH-1", "always"},
	} {
		t.Run(row.name, func(t *testing.T) {
			here, err := recorded(t, row.entries)
			if err != nil {
				t.Fatal(err)
			}
			rule, known := Find(row.rule)
			if got := here.Mode(rule); got != row.want || !known || here.Profile() != controlplane.Hardened {
				t.Errorf("%s is %q, want %q", row.rule, got, row.want)
			}
		})
	}
}

func TestAClusterWithoutARecord(t *testing.T) {
	for name, row := range map[string]struct {
		entries map[string]string
		want    string
	}{
		"no host":        {nil, "is not installed"},
		"not JSON":       {map[string]string{"cp-1": "\x1b[2J{"}, "cannot read the entry of host cp-1"},
		"unknown syntax": {map[string]string{"cp-1": entry(t, "enforce", "sometimes")}, "cannot read the rule modes"},
	} {
		if _, err := recorded(t, row.entries); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := ReadHere(context.Background(), fake.NewClientset().CoreV1().ConfigMaps(metav1.NamespaceSystem))
	if err == nil || !strings.Contains(err.Error(), "is not installed") {
		t.Errorf("no ConfigMap: %v", err)
	}
}
