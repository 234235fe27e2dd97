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
	// ReasonPending means that an account has a scope that is not in force yet.
	ReasonPending = "NodeScopePending"
	// ReasonScoped means that the scope of an account is in force.
	ReasonScoped = "NodeScoped"
	// ReasonOverShare means that an account with a scope is not protected, because its
	// namespace has more such accounts than its share of the lists.
	ReasonOverShare = "NodeScopeBeyondShare"
	// ReasonUnread means that an annotation cannot be parsed.
	ReasonUnread = "NodeScopeUnread"
	// ReasonProblem, on the ConfigMap of the records, means that the lists are not current.
	ReasonProblem = "NodeScopeNotKept"
)

// The number of events of one turn is limited, because a user who can annotate accounts or pods
// can annotate many. The namespaces take turns. Events that are left out are sent in one of the
// next turns.
const (
	accountsAtOnce = 20
	// unreadAtOnce is the maximum number of events about annotations that cannot be parsed.
	// unreadOfOne is the maximum for one namespace.
	unreadAtOnce, unreadOfOne = 100, 10
)

// minProblemAge is how long a problem must last before it gets an event.
const minProblemAge = 30 * time.Second

// eventReporter sends events about the state of accounts.
type eventReporter struct {
	client kubernetes.Interface
	events record.EventRecorder
	node   string
	index  *scopeindex.Annotations
	// lastReason has the reason of the last event of each account, or the state that was already
	// known at the start.
	lastReason map[scopelist.Account]string
	unread     map[scopeindex.Unread]bool
	// problem is the current problem, and since is when it began. reported is true if there is an
	// event about it.
	problem  string
	since    time.Time
	reported bool
}

func newTeller(c Config, index *scopeindex.Annotations) eventReporter {
	return eventReporter{
		client: c.Client, events: c.Events, node: c.NodeName, index: index,
		lastReason: map[scopelist.Account]string{}, unread: map[scopeindex.Unread]bool{},
	}
}

// report sends events about changes of accounts with a scope, in the order of wanted. An account
// that is already in force when it is first seen gets no event: the process before this one has
// sent it.
func (t *eventReporter) report(
	ctx context.Context, wanted []scopelist.Candidate, overShare map[scopelist.Account]bool,
	states map[scopelist.Account]scopelist.State,
) {
	has := make(map[scopelist.Account]bool, len(wanted))
	news := 0
	for _, c := range wanted {
		has[c.Account] = true
		kind, reason, message := t.news(states[c.Account], overShare[c.Account])
		before, known := t.lastReason[c.Account]
		switch {
		case before == reason:
		case reason == ReasonScoped && !known:
			t.lastReason[c.Account] = reason
		case news < accountsAtOnce:
			news++
			t.lastReason[c.Account] = reason
			t.account(ctx, c.Account, kind, reason, message)
		}
	}
	maps.DeleteFunc(t.lastReason, func(account scopelist.Account, _ string) bool { return !has[account] })
	t.tellUnread()
}

func (t *eventReporter) news(state scopelist.State, overShare bool) (kind, reason, message string) {
	switch {
	case state == scopelist.State{Authorization: true, Admission: true}:
		return corev1.EventTypeNormal, ReasonScoped, "Limited to their nodes by the API server of " + t.node
	case overShare:
		return corev1.EventTypeWarning, ReasonOverShare,
			"Not protected: the namespace has more accounts with a scope than its share of the lists of the API server of " +
				t.node + ". Remove the annotation from accounts that do not need it"
	default:
		return corev1.EventTypeNormal, ReasonPending,
			"Annotated, and not yet limited to their nodes by the API server of " + t.node
	}
}

func (t *eventReporter) tellUnread() {
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
				"Limited to the node on everything, because the annotation cannot be read: %s", u.Reason)
		}
		now[u] = true
	}
	t.unread = now
}

// account sends an event about an account. kubectl describe finds events by the UID of the
// object. For an account that only has annotated pods, the UID must be looked up.
func (t *eventReporter) account(ctx context.Context, account scopelist.Account, kind, reason, message string) {
	uid := t.index.UID(account)
	if uid == "" {
		sa, err := t.client.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name, metav1.GetOptions{})
		if err != nil {
			return // the account may not exist
		}
		uid = sa.UID
	}
	t.events.Event(reference("ServiceAccount", account.Namespace, account.Name, uid), kind, reason, message)
}

// complain sends one event for a problem that has lasted for a while. A short problem, for
// example at the start of this process, gets no event.
func (t *eventReporter) complain(problem string) {
	if problem != t.problem {
		t.problem, t.since, t.reported = problem, time.Now(), false
	}
	if problem == "" || t.reported || time.Since(t.since) < minProblemAge {
		return
	}
	t.reported = true
	t.events.Eventf(reference("ConfigMap", scopelist.RecordsNamespace, scopelist.RecordsName, ""), corev1.EventTypeWarning,
		ReasonProblem, "On %s: %s", t.node, problem)
}

func reference(kind, namespace, name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name, UID: uid}
}
