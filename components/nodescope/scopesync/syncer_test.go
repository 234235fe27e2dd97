// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// An account changes from pending to live, list by list. It leaves the lists when its
// annotation is removed.
func TestAnAccountsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("plain", false), account("agent", true), pod("p", "viapod", true), account("viapod", false))
		w.load("authorization", "admission")
		stop := w.start()
		settle(2)
		w.expectLists("at first", "agent viapod")
		w.expectState("written", "agent", scopelist.State{})
		w.expectEvents("written", "Normal NodeScopePending", "Normal NodeScopePending")
		w.load("authorization")
		settle(20)
		w.expectState("one is loaded", "agent", scopelist.State{Authorization: true})
		w.expectEvents("one is loaded")
		w.load("admission")
		settle(20)
		w.expectState("both are loaded", "agent", both)
		w.expectState("both are loaded", "viapod", both)
		w.expectEvents("both are loaded", "Normal NodeScoped", "Normal NodeScoped")
		w.expectProblem("both are loaded", "")

		if _, err := w.client.CoreV1().ServiceAccounts("ns").Update(t.Context(), account("agent", false),
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(2)
		w.expectLists("not annotated any more", "viapod")
		w.expectState("until the server has it", "agent", both)
		w.load("authorization", "admission")
		settle(20)
		if r := w.record(); len(r.Accounts) != 1 {
			t.Errorf("afterwards %v are told of", r.Accounts)
		}
		w.expectEvents("afterwards")
		stop()
	})
}

// The conditions under which an account stays in the lists, and those under which it leaves.
func TestConditionsForRemovalFromTheList(t *testing.T) {
	for _, tc := range []struct {
		name    string
		account *corev1.ServiceAccount
		pod     *corev1.Pod
		broken  string
		leaves  bool
	}{
		{"neither it nor its pod is annotated", account("agent", false), pod("p", "agent", false), "", true},
		{"its pod is annotated, and was not seen", account("agent", false), pod("p", "agent", true), "", false},
		{"it is annotated, and was not seen", account("agent", true), nil, "", false},
		{"it is deleted, and a pod is left", nil, pod("p", "agent", false), "", false},
		{"it is deleted, and no pod is left", nil, nil, "", true},
		{"accounts cannot be read", account("agent", false), nil, "serviceaccounts", false},
		{"pods cannot be read", account("agent", false), nil, "pods", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for name, kind := range map[string]*scopelist.Kind{"authorization": scopelist.Authorization,
					"admission": scopelist.Admission} {
					template := map[string]string{"authorization": authorizationFile, "admission": admissionFile}[name]
					listed, err := scopelist.Replace(kind, []byte(template), []scopelist.Account{{Namespace: "ns", Name: "agent"}})
					if err != nil {
						t.Fatal(err)
					}
					w.place(name, string(listed))
				}
				w.live(tc.account, tc.pod, tc.broken)
				stop := w.start()
				settle(2)
				want := "agent"
				if tc.leaves {
					want = ""
				}
				w.expectLists("", want)
				if tc.broken != "" {
					w.expectProblem("", "ns/agent stays in the lists: broken")
				}
				stop()
			})
		})
	}
}
