// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

var scopeNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func controlPlane(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}
}

func scopeAccount(name string, annotations map[string]string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: annotations}}
}

func scopePod(name, runsAs, value string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name,
			Annotations: map[string]string{"bulkhead.dev/node-scoped-resources": value}},
		Spec: corev1.PodSpec{ServiceAccountName: runsAs},
	}
}

// digest returns the digest of an account with these annotations and of its pods.
func digest(annotations map[string]string, pods ...string) string {
	ofPods := map[string]struct{}{}
	for _, value := range pods {
		ofPods[scopelist.DigestOfPod(value)] = struct{}{}
	}
	return scopelist.Digest(scopelist.DigestOfAccount(annotations), ofPods)
}

// recorded returns the reports of the hosts. The state of each account is written as letters: a for
// authorization, w for admission.
func recorded(t *testing.T, hosts map[string]scopelist.Record) *corev1.ConfigMap {
	t.Helper()
	all := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bulkhead-node-scope"},
		Data: map[string]string{}}
	for host, record := range hosts {
		text, err := record.Encode()
		if err != nil {
			t.Fatal(err)
		}
		all.Data[host] = text
	}
	return all
}

func told(ago time.Duration, states map[string]string) scopelist.Record {
	r := scopelist.Record{Time: scopeNow.Add(-ago), Accounts: map[scopelist.Account]scopelist.State{},
		Details: map[scopelist.Account]scopelist.Detail{}}
	for name, state := range states {
		account := scopelist.Account{Namespace: "ns", Name: name}
		r.Accounts[account] = scopelist.State{Authorization: strings.Contains(state, "a"),
			Admission: strings.Contains(state, "w")}
		r.Details[account] = scopelist.Detail{Digest: digests[name], Since: scopeNow.Add(-time.Hour)}
	}
	return r
}

const scopeKey, modeKey = "bulkhead.dev/node-scoped-resources", "bulkhead.dev/node-scope-mode"

var long = strings.Repeat("pods,", 30) + "pods"

// digests are the digests of the accounts in the tests.
var digests = map[string]string{
	"everywhere": digest(map[string]string{scopeKey: "pods, nodes"}),
	"audited":    digest(map[string]string{scopeKey: "*", modeKey: "audit"}),
	"changed":    digest(map[string]string{scopeKey: "pods", modeKey: "audit"}),
	"viapod":     digest(nil, "secrets"),
	"a":          digest(map[string]string{scopeKey: long}),
}

func scopeOutput(t *testing.T, output string, objects ...runtime.Object) (string, error) {
	t.Helper()
	var out strings.Builder
	err := printScopes(t.Context(), &out, fake.NewClientset(objects...), output, scopeNow)
	return out.String(), err
}

// misnamed is the line about the account that no pod runs as.
const misnamed = "ns/audited: no pod runs as this account: compare its name with spec.serviceAccountName of the pods " +
	"that it is for\n"

func TestScopeList(t *testing.T) {
	const key = scopeKey
	old, ended := scopePod("old", "everywhere", ""), scopePod("ended", "everywhere", "")
	old.Annotations, ended.Annotations = nil, nil
	old.CreationTimestamp = metav1.NewTime(scopeNow.Add(-2 * time.Hour))
	newer := old.DeepCopy()
	newer.Name, newer.CreationTimestamp = "newer", metav1.NewTime(scopeNow.Add(-time.Minute))
	ended.Status.Phase = corev1.PodFailed
	ofNew, ofChanged := newer.DeepCopy(), newer.DeepCopy()
	ofNew.Name, ofNew.Spec.ServiceAccountName = "of-new", "new"
	ofChanged.Name, ofChanged.Spec.ServiceAccountName = "of-changed", "changed"
	cluster := []runtime.Object{
		controlPlane("cp-1"), controlPlane("cp-2"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}},
		scopeAccount("plain", nil),
		scopeAccount("everywhere", map[string]string{key: "pods, nodes"}),
		scopeAccount("audited", map[string]string{key: "*", "bulkhead.dev/node-scope-mode": "audit"}),
		scopeAccount("new", map[string]string{key: "Pods"}),
		scopeAccount("former", nil),
		// Audit mode has ended. The reports of the hosts are still from before.
		scopeAccount("changed", map[string]string{key: "pods"}),
		old, newer, ended, ofNew, ofChanged,
		scopePod("p", "viapod", "secrets"), scopePod("q", "viapod", "secrets"),
	}
	both := map[string]string{"everywhere": "aw", "audited": "aw", "viapod": "aw", "former": "aw", "changed": "aw"}
	for _, tc := range []struct {
		name  string
		hosts map[string]scopelist.Record
		want  string
	}{
		{"all is live", map[string]scopelist.Record{"cp-1": told(0, both), "cp-2": told(time.Minute, both)}, `
NAMESPACE  SERVICEACCOUNT  RESOURCES           MODE     AUTHORIZATION  ADMISSION  OLDER PODS
ns         audited         *                   audit    live           live       0
ns         changed         pods                enforce  pending        pending    -
ns         everywhere      pods,nodes          enforce  live           live       1
ns         former          none any more       enforce  live           live       0
ns         new             * (cannot be read)  enforce  pending        pending    -
ns         viapod          pods: secrets       enforce  live           live       2
` + misnamed},
		{
			"one host is behind, another is gone",
			map[string]scopelist.Record{"cp-1": told(0, both),
				"cp-2": told(0, map[string]string{"everywhere": "a", "audited": "w"}), "cp-0": told(0, nil)}, `
NAMESPACE  SERVICEACCOUNT  RESOURCES           MODE     AUTHORIZATION  ADMISSION  OLDER PODS
ns         audited         *                   audit    pending        live       -
ns         changed         pods                enforce  pending        pending    -
ns         everywhere      pods,nodes          enforce  live           pending    -
ns         former          none any more       enforce  pending        pending    -
ns         new             * (cannot be read)  enforce  pending        pending    -
ns         viapod          pods: secrets       enforce  pending        pending    -
` + misnamed,
		},
		{"one host has no report, the other an old one", map[string]scopelist.Record{"cp-1": told(time.Hour, both)}, `
NAMESPACE  SERVICEACCOUNT  RESOURCES           MODE     AUTHORIZATION  ADMISSION  OLDER PODS
ns         audited         *                   audit    pending        pending    -
ns         changed         pods                enforce  pending        pending    -
ns         everywhere      pods,nodes          enforce  pending        pending    -
ns         new             * (cannot be read)  enforce  pending        pending    -
ns         viapod          pods: secrets       enforce  pending        pending    -
` + misnamed + `cp-1: its scope-sync last wrote its state 1h0m0s ago: that state is not counted, the lists stay in force
cp-2: its scope-sync has written no state: it is unknown whether the API server there limits accounts
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := scopeOutput(t, "table", append(cluster, recorded(t, tc.hosts))...)
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestScopeListProblems(t *testing.T) {
	full := told(0, nil)
	full.Problem, full.Omitted = "cannot write", 2
	got, err := scopeOutput(t, "table", controlPlane("cp-1"), recorded(t, map[string]scopelist.Record{"cp-1": full}))
	const want = "no account has a scope\ncp-1: cannot write; the state has no space for 2 accounts, which are shown " +
		"as pending\n"
	if got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	spoilt := recorded(t, nil)
	spoilt.Data["cp-1"] = "{"
	if got, err := scopeOutput(t, "table", controlPlane("cp-1"), spoilt); err != nil ||
		!strings.Contains(got, "cp-1: reading the state of scope-sync") {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := scopeOutput(t, "table", controlPlane("cp-1")); err == nil ||
		err.Error() != "node scope is not installed in this cluster: cannot find ConfigMap kube-system/bulkhead-node-scope" {
		t.Errorf("got %v", err)
	}
	if _, err := scopeOutput(t, "table", recorded(t, nil)); err == nil ||
		!strings.Contains(err.Error(), "node scope is not installed") {
		t.Errorf("got %v", err)
	}
}

func TestScopeListAsJSON(t *testing.T) {
	objects := []runtime.Object{
		controlPlane("cp-1"), scopeAccount("a", map[string]string{"bulkhead.dev/node-scoped-resources": long}),
		recorded(t, map[string]scopelist.Record{"cp-1": told(0, map[string]string{"a": "a"})}),
	}
	got, err := scopeOutput(t, "json", objects...)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Accounts []scopedAccount
		Hosts    []scopeHost
	}
	if err := json.Unmarshal([]byte(got), &read); err != nil {
		t.Fatal(err)
	}
	want := []scopedAccount{{"ns", "a", long, "enforce", "live", "pending", nil, true}}
	if diff := cmp.Diff(want, read.Accounts); diff != "" || len(read.Hosts) != 1 || read.Hosts[0].Node != "cp-1" ||
		!read.Hosts[0].Heard.Equal(scopeNow) {
		t.Errorf("%s\n%s", diff, got)
	}
	if table, err := scopeOutput(t, "table", objects...); err != nil || !strings.Contains(table, "…") ||
		strings.Contains(table, long) {
		t.Errorf("%v\n%s", err, table)
	}
}
