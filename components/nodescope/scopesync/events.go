// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopestate"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync/annotated"
)

// The reasons of events.
const (
	// ReasonPending says that an account has a scope that is not in force yet.
	ReasonPending = "NodeScopePending"
	// ReasonScoped says that it is.
	ReasonScoped = "NodeScoped"
	// ReasonUnread says that an annotation cannot be read.
	ReasonUnread = "NodeScopeUnread"
	// ReasonProblem, on the ConfigMap of the records, says that lists are not kept.
	ReasonProblem = "NodeScopeNotKept"
)

// newsAtOnce bounds what is told of unreadable annotations in one turn: whoever may
// annotate pods can make as many as it likes.
const newsAtOnce = 100

// worthAnEvent is how long something has to be wrong.
const worthAnEvent = 30 * time.Second

// teller tells accounts, by events, what has become of them.
type teller struct {
	client kubernetes.Interface
	events record.EventRecorder
	node   string
	index  *annotated.Index
	// told is whether an account was last told, or known from the start, to be in force.
	told   map[scopelist.Account]bool
	unread map[annotated.Unread]bool
	// problem is what is wrong, and since when; isTold is true if an event says so.
	problem string
	since   time.Time
	isTold  bool
}

func newTeller(c Config, index *annotated.Index) teller {
	return teller{client: c.Client, events: c.Events, node: c.NodeName, index: index, told: map[scopelist.Account]bool{}, unread: map[annotated.Unread]bool{}}
}

// tell notes what has changed for those who have a scope. Who is in force when it is first
// seen was told by the process before this one.
func (t *teller) tell(ctx context.Context, states map[scopelist.Account]scopestate.State) {
	wanted := t.index.Accounts()
	for _, account := range wanted {
		live := states[account] == scopestate.State{Authorization: true, Admission: true}
		before, known := t.told[account]
		t.told[account] = live
		switch {
		case live && known && !before:
			t.account(ctx, account, corev1.EventTypeNormal, ReasonScoped, "Held to their nodes by the API server of "+t.node)
		case !live && (!known || before):
			t.account(ctx, account, corev1.EventTypeNormal, ReasonPending, "Annotated, and not yet held to their nodes by the API server of "+t.node)
		}
	}
	maps.DeleteFunc(t.told, func(account scopelist.Account, _ bool) bool {
		_, still := slices.BinarySearchFunc(wanted, account, scopelist.Compare)
		return !still
	})
	t.tellUnread()
}

func (t *teller) tellUnread() {
	now := map[annotated.Unread]bool{}
	news := 0
	for _, u := range t.index.Unread() {
		if !t.unread[u] {
			if news++; news > newsAtOnce {
				continue
			}
			t.events.Eventf(reference(u.Kind, u.Namespace, u.Name, u.UID), corev1.EventTypeWarning, ReasonUnread,
				"Held to the node on everything, because the annotation cannot be read: %s", u.Reason)
		}
		now[u] = true
	}
	t.unread = now
}

// account tells an account. Describing an object finds events by its UID, which is not
// known of one that only its pods have a scope for.
func (t *teller) account(ctx context.Context, account scopelist.Account, kind, reason, message string) {
	uid := t.index.UID(account)
	if uid == "" {
		sa, err := t.client.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name, metav1.GetOptions{})
		if err != nil {
			return // there is nobody to tell
		}
		uid = sa.UID
	}
	t.events.Event(reference("ServiceAccount", account.Namespace, account.Name, uid), kind, reason, message)
}

// complain tells whoever looks after the cluster what has been wrong for a while, once:
// what is wrong for a moment, as when this process starts, is not worth an event.
func (t *teller) complain(problem string) {
	if problem != t.problem {
		t.problem, t.since, t.isTold = problem, time.Now(), false
	}
	if problem == "" || t.isTold || time.Since(t.since) < worthAnEvent {
		return
	}
	t.isTold = true
	t.events.Eventf(reference("ConfigMap", scopestate.Namespace, scopestate.Name, ""), corev1.EventTypeWarning, ReasonProblem, "On %s: %s", t.node, problem)
}

func reference(kind, namespace, name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name, UID: uid}
}
