// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// The reasons of events.
const (
	// ReasonPending says that an account has a scope that is not in force yet.
	ReasonPending = "NodeScopePending"
	// ReasonScoped says that it is.
	ReasonScoped = "NodeScoped"
	// ReasonBeyondShare says that an account with a scope is not protected, because its
	// namespace has more of them than its share of the lists.
	ReasonBeyondShare = "NodeScopeBeyondShare"
	// ReasonUnread says that an annotation cannot be read.
	ReasonUnread = "NodeScopeUnread"
	// ReasonProblem, on the ConfigMap of the records, says that lists are not kept.
	ReasonProblem = "NodeScopeNotKept"
)

// What one turn tells of is bounded: whoever may annotate accounts or pods can make as many
// as it likes. Each namespace comes in its turn, and what is not told of now is told of in
// one of the next turns.
const (
	accountsAtOnce = 20
	// unreadAtOnce bounds what is told of annotations that cannot be read, and unreadOfOne
	// what of that is one namespace's.
	unreadAtOnce, unreadOfOne = 100, 10
)

// worthAnEvent is how long something has to be wrong.
const worthAnEvent = 30 * time.Second

// teller tells accounts, by events, what has become of them.
type teller struct {
	client kubernetes.Interface
	events record.EventRecorder
	node   string
	index  *scopeindex.Annotations
	// told is the reason that an account was last told, or that was known from the start.
	told   map[scopelist.Account]string
	unread map[scopeindex.Unread]bool
	// problem is what is wrong, and since when; isTold is true if an event says so.
	problem string
	since   time.Time
	isTold  bool
}

func newTeller(c Config, index *scopeindex.Annotations) teller {
	return teller{
		client: c.Client, events: c.Events, node: c.NodeName, index: index,
		told: map[scopelist.Account]string{}, unread: map[scopeindex.Unread]bool{},
	}
}

// tell notes what has changed for those who have a scope, in the order of wanted. Who is in
// force when it is first seen was told by the process before this one.
func (t *teller) tell(
	ctx context.Context, wanted []scopelist.Candidate, beyond map[scopelist.Account]bool,
	states map[scopelist.Account]scopelist.State,
) {
	has := make(map[scopelist.Account]bool, len(wanted))
	news := 0
	for _, c := range wanted {
		has[c.Account] = true
		kind, reason, message := t.news(states[c.Account], beyond[c.Account])
		before, known := t.told[c.Account]
		switch {
		case before == reason:
		case reason == ReasonScoped && !known:
			t.told[c.Account] = reason
		case news < accountsAtOnce:
			news++
			t.told[c.Account] = reason
			t.account(ctx, c.Account, kind, reason, message)
		}
	}
	maps.DeleteFunc(t.told, func(account scopelist.Account, _ string) bool { return !has[account] })
	t.tellUnread()
}

func (t *teller) news(state scopelist.State, beyond bool) (kind, reason, message string) {
	switch {
	case state == scopelist.State{Authorization: true, Admission: true}:
		return corev1.EventTypeNormal, ReasonScoped, "Held to their nodes by the API server of " + t.node
	case beyond:
		return corev1.EventTypeWarning, ReasonBeyondShare,
			"Not protected: the namespace has more accounts with a scope than its share of the lists of the API server of " +
				t.node + ". Remove the annotation from accounts that do not need it"
	default:
		return corev1.EventTypeNormal, ReasonPending,
			"Annotated, and not yet held to their nodes by the API server of " + t.node
	}
}

func (t *teller) tellUnread() {
	now := map[scopeindex.Unread]bool{}
	news, of := 0, map[string]int{}
	for _, u := range t.index.Unread() {
		if !t.unread[u] {
			if news == unreadAtOnce || of[u.Namespace] == unreadOfOne {
				continue
			}
			news++
			of[u.Namespace]++
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
	t.events.Eventf(reference("ConfigMap", scopelist.RecordsNamespace, scopelist.RecordsName, ""), corev1.EventTypeWarning,
		ReasonProblem, "On %s: %s", t.node, problem)
}

func reference(kind, namespace, name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name, UID: uid}
}
