// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// in puts the account into another namespace, created that many seconds after the first.
func in(namespace string, created int64, sa *corev1.ServiceAccount) *corev1.ServiceAccount {
	sa.Namespace, sa.CreationTimestamp = namespace, metav1.Unix(1000+created, 0)
	return sa
}

// tenant returns n accounts with a scope in one namespace.
func tenant(n int) []runtime.Object {
	var objects []runtime.Object
	for i := range n {
		objects = append(objects, in("a-tenant", int64(i), account(fmt.Sprintf("a%04d", i), true)))
	}
	return objects
}

func (w *world) listedIn(namespace string) (names []string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "admission"))
	if err != nil {
		w.t.Fatal(err)
	}
	accounts, err := scopelist.Read(scopelist.Admission, data)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, account := range accounts {
		if account.Namespace == namespace {
			names = append(names, account.Name)
		}
	}
	return names
}

// A namespace may use all room that no other namespace needs. When another namespace or
// kube-system gets an account, that account is listed. The process stays ready.
func TestNamespaceDoesNotUseTheShareOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, tenant(scopelist.MaxAccounts+100)...)
		stop := w.start()
		settle(2)
		if got := len(w.listedIn("a-tenant")); got != scopelist.MaxAccounts {
			t.Errorf("alone, %d accounts are listed", got)
		}
		w.expectNotice(overShareMessage)
		for _, sa := range []*corev1.ServiceAccount{in("ns", 5000, account("agent", true)),
			in("kube-system", 5000, account("kube-proxy", true))} {
			if _, err := w.client.CoreV1().ServiceAccounts(sa.Namespace).Create(t.Context(), sa,
				metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		settle(2)
		left := w.listedIn("a-tenant")
		if len(left) != scopelist.MaxAccounts-2 || left[len(left)-1] != "a0997" {
			t.Errorf("%d accounts of the tenant are listed, the last is %s", len(left), left[len(left)-1])
		}
		if a, b := w.listedIn("ns"), w.listedIn("kube-system"); len(a) != 1 || len(b) != 1 {
			t.Errorf("of the others, %v and %v are listed", a, b)
		}
		w.load("authorization", "admission")
		settle(20)
		w.expectState("the other", "agent", both)
		w.expectNotice(overShareMessage)
		stop()
	})
}

// A host that has run for long and a new host list the same accounts.
func TestANewHostListsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(tenant(scopelist.MaxAccounts), in("kube-system", 1, account("kube-proxy", true)))...)
		w.listed("old-host-only")
		stop := w.start()
		settle(2)
		late := in("zz", 9000, account("late", true))
		if _, err := w.client.CoreV1().ServiceAccounts("zz").Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(2)
		stop()
		other := newWorld(t, append(tenant(scopelist.MaxAccounts), in("kube-system", 1, account("kube-proxy", true)),
			late)...)
		stop = other.start()
		settle(2)
		stop()
		for _, namespace := range []string{"a-tenant", "kube-system", "zz", "ns"} {
			if a, b := w.listedIn(namespace), other.listedIn(namespace); !slices.Equal(a, b) {
				t.Errorf("%s: one lists %d, the other %d", namespace, len(a), len(b))
			}
		}
	})
}

// An account beyond the share of its namespace gets an event. Each turn sends a few events, and
// the namespaces take turns.
func TestAccountsOverTheShareGetAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(tenant(scopelist.MaxAccounts+100), in("zz", 1, account("agent", true)))...)
		stop := w.start()
		settle(1)
		time.Sleep(time.Second)
		// The view may have synced before the first turn or after it.
		before := w.told()[ReasonPending]
		if before != accountsAtOnce && before != 2*accountsAtOnce {
			t.Errorf("at first: got %d events about pending accounts", before)
		}
		settle(1)
		w.expectTold("in the next turn", map[string]int{ReasonPending: accountsAtOnce})
		settle(scopelist.MaxAccounts/accountsAtOnce + 8)
		w.expectTold("then", map[string]int{ReasonPending: scopelist.MaxAccounts - accountsAtOnce - before,
			ReasonOverShare: 101, ReasonProblem: 1})
		settle(10)
		w.expectTold("again", map[string]int{})
		stop()
	})
}

// told counts the events since the last call, by reason.
func (w *world) told() map[string]int {
	got := map[string]int{}
	for len(w.events.Events) > 0 {
		got[strings.Fields(<-w.events.Events)[1]]++
	}
	return got
}

func (w *world) expectTold(when string, want map[string]int) {
	w.t.Helper()
	if got := w.told(); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s: got events %v, want %v", when, got, want)
	}
}

// If a thousand annotations are removed at once, a new account is not delayed.
func TestManyThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, tenant(scopelist.MaxAccounts)...)
		stop := w.start()
		settle(2)
		for i := range scopelist.MaxAccounts {
			sa := in("a-tenant", int64(i), account(fmt.Sprintf("a%04d", i), false))
			if _, err := w.client.CoreV1().ServiceAccounts("a-tenant").Update(t.Context(), sa,
				metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.client.CoreV1().ServiceAccounts("ns").Create(t.Context(), account("agent", true),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(1)
		if left := len(w.listedIn("a-tenant")); left != scopelist.MaxAccounts-leavesAtOnce || len(w.listedIn("ns")) != 1 {
			t.Errorf("after one turn, %d of the many are listed, and %v", left, w.listedIn("ns"))
		}
		settle(scopelist.MaxAccounts / leavesAtOnce)
		w.expectLists("in the end", "agent")
		stop()
	})
}

// An account is live when both components have seen its annotations. If a component does not
// answer, no live account becomes pending.
func TestAccountIsLiveWhenBothComponentsHaveSeenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(version, scope string) *corev1.ServiceAccount {
			sa := account("agent", true)
			sa.ResourceVersion, sa.Annotations[scopeKey] = version, scope
			return sa
		}
		ofPod := pod("p", "viapod", true)
		ofPod.ResourceVersion = "15"
		w := newWorld(t, at("10", "pods"), ofPod)
		w.listed("agent")
		w.see(0, "9", nil)
		w.see(1, "10", nil)
		stop := w.start()
		settle(2)
		w.load("authorization", "admission")
		settle(20)
		w.expectState("the authorizer is behind", "agent", scopelist.State{Admission: true})
		w.see(0, "20", nil)
		settle(1)
		w.expectState("both have seen it", "agent", both)
		w.expectState("its pod is seen by one", "viapod", scopelist.State{Authorization: true})
		w.see(1, "20", nil)
		settle(1)
		w.expectState("its pod is seen", "viapod", both)
		first := w.record().Details[scopelist.Account{Namespace: "ns", Name: "agent"}]
		if first.Digest == "" || first.Since.IsZero() {
			t.Errorf("told is %+v", first)
		}

		update := func(sa *corev1.ServiceAccount) {
			t.Helper()
			if _, err := w.client.CoreV1().ServiceAccounts("ns").Update(t.Context(), sa, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			settle(2)
		}
		labelled := at("30", "pods")
		labelled.Labels = map[string]string{"a": "b"}
		update(labelled)
		w.expectState("another change", "agent", both)
		update(at("40", "pods,secrets"))
		w.expectState("a wider scope", "agent", scopelist.State{})
		w.see(0, "40", nil)
		w.see(1, "40", nil)
		settle(1)
		w.expectState("which both have seen", "agent", both)
		if d := w.record().Details[scopelist.Account{Namespace: "ns", Name: "agent"}]; d.Digest == first.Digest ||
			!d.Since.After(first.Since) {
			t.Errorf("told is %+v, and was %+v", d, first)
		}
		// A restart keeps Since, and sends no event again.
		w.expectTold("until then", map[string]int{ReasonPending: 2, ReasonScoped: 2})
		d := w.record().Details[scopelist.Account{Namespace: "ns", Name: "agent"}]
		stop()
		time.Sleep(time.Hour)
		w.syncer = New(w.syncer.Config)
		stop = w.start()
		settle(3)
		if now := w.record().Details[scopelist.Account{Namespace: "ns", Name: "agent"}]; now != d {
			t.Errorf("after a restart, told is %+v, and was %+v", now, d)
		}
		w.expectTold("after a restart", map[string]int{})
		w.see(0, "", os.ErrDeadlineExceeded)
		settle(2)
		w.expectState("one does not answer", "agent", both)
		w.expectNotice("cannot ask node-authorizer on this host which annotations it has seen")
		stop()
	})
}
