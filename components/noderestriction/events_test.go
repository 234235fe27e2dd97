// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// anEvent returns an event about the pod default/mine, as the kubelet of the node me writes it.
func anEvent(edits ...func(*corev1.Event)) *corev1.Event {
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine.1"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "mine",
			UID: "mine-uid", FieldPath: "spec.containers{c}"},
		Source:              corev1.EventSource{Component: "kubelet", Host: "me"},
		ReportingController: "kubelet", ReportingInstance: "me",
		Reason: "Pulled", Count: 1,
	}
	for _, edit := range edits {
		edit(e)
	}
	return e
}

// aNewEvent returns the event of anEvent in events.k8s.io.
func aNewEvent(edits ...func(*corev1.Event)) *eventsv1.Event {
	e := anEvent(edits...)
	return &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, Regarding: e.InvolvedObject, Related: e.Related, DeprecatedSource: e.Source,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance, Reason: e.Reason,
		DeprecatedCount: e.Count,
	}
}

func from(host, instance string) func(*corev1.Event) {
	return func(e *corev1.Event) { e.Source.Host, e.ReportingInstance = host, instance }
}

// inBoth returns the rows of one write, for both API groups.
func inBoth(name string, op admission.Operation, now, old []func(*corev1.Event), by rules.ID, says string) []row {
	var object, before, newObject, newBefore runtime.Object
	if now != nil {
		object, newObject = anEvent(now...), aNewEvent(now...)
	}
	if old != nil {
		before, newBefore = anEvent(old...), aNewEvent(old...)
	}
	core := row{name: name, write: write("me", op, "events", "", object, before), by: by}
	grouped := row{name: name + ", in events.k8s.io",
		write: write("me", op, "events.events.k8s.io", "", newObject, newBefore), by: by}
	if by != "" {
		said := core.write.GetName()
		core.says = `events "` + said + `" is forbidden: ` + says + " [" + string(by) + "]"
		grouped.says = `events.events.k8s.io "` + said + `" is forbidden: ` + says + " [" + string(by) + "]"
	}
	return []row{core, grouped}
}

type edits = []func(*corev1.Event)

func TestEventSource(t *testing.T) {
	const says = `node "me" can only write events with itself as source.host and reportingInstance`
	rows := slices.Concat(
		inBoth("both", admission.Create, edits{from("me", "me")}, nil, "", ""),
		inBoth("the host", admission.Create, edits{from("me", "")}, nil, "", ""),
		inBoth("the instance", admission.Create, edits{from("", "me")}, nil, "", ""),
		inBoth("neither", admission.Create, edits{from("", "")}, nil, "NR-EVENT-1", says),
		inBoth("another's host", admission.Create, edits{from("other", "me")}, nil, "NR-EVENT-1", says),
		inBoth("another's instance", admission.Create, edits{from("me", "other")}, nil, "NR-EVENT-1", says),
		inBoth("another", admission.Create, edits{from("other", "other")}, nil, "NR-EVENT-1", says),
		inBoth("nearly", admission.Create, edits{from("me ", "me")}, nil, "NR-EVENT-1", says),
		inBoth("any component", admission.Create,
			edits{func(e *corev1.Event) { e.Source.Component, e.ReportingController = "x", "y" }}, nil, "", ""),
		inBoth("an update", admission.Update, edits{from("other", "other")}, edits{from("me", "me")}, "NR-EVENT-1", says),
	)
	run(t, restrict(aCluster(), enforce("NR-EVENT-1")), append(rows,
		row{name: "another operation: denied",
			write: write("me", admission.Connect, "events", "", nil, nil), by: "NR-EVENT-1",
			says: `events "Unknown" is forbidden: unexpected operation "CONNECT" [NR-EVENT-1]`},
		row{name: "no object: denied", write: write("me", admission.Create, "events", "", nil, nil), by: "NR-EVENT-1",
			says: `events "Unknown" is forbidden: unexpected type <nil> [NR-EVENT-1]`},
		row{name: "nil Event: denied", write: write("me", admission.Create, "events", "", (*corev1.Event)(nil), nil),
			by: "NR-EVENT-1", says: `events "Unknown" is forbidden: unexpected type <nil> [NR-EVENT-1]`},
		row{name: "object of another type: denied",
			write: write("me", admission.Create, "events", "", aNode("me"), nil), by: "NR-EVENT-1",
			says: `events "me" is forbidden: unexpected type *v1.Node [NR-EVENT-1]`},
	))
	run(t, restrict(aCluster()), inBoth("off", admission.Create, edits{from("other", "other")}, nil, "", ""))
}

func TestEventRetarget(t *testing.T) {
	const (
		others = `node "me" can only change events with itself as source.host and reportingInstance`
		says   = `node "me" is not allowed to change the source of an event or what it is about`
		by     = "NR-EVENT-3"
	)
	about := func(edit func(*corev1.ObjectReference)) edits {
		return edits{func(e *corev1.Event) { edit(&e.InvolvedObject) }}
	}
	related := func(name string) edits {
		return edits{func(e *corev1.Event) {
			e.Related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name}
		}}
	}
	rows := slices.Concat(
		inBoth("counted up", admission.Update, edits{func(e *corev1.Event) { e.Count, e.Message = 2, "(combined)" }}, edits{},
			"", ""),
		inBoth("the same related", admission.Update, related("me"), related("me"), "", ""),
		inBoth("an old recorder's", admission.Update, edits{from("me", "")}, edits{from("me", "")}, "", ""),
		inBoth("another's", admission.Update, edits{from("other", "other")}, edits{from("other", "other")}, by, others),
		inBoth("another's made its own", admission.Update, edits{}, edits{from("other", "other")}, by, others),
		inBoth("nobody's", admission.Update, edits{}, edits{from("", "")}, by, others),
		inBoth("its own given away", admission.Update, edits{from("other", "other")}, edits{}, by, says),
		inBoth("the instance dropped", admission.Update, edits{from("me", "")}, edits{}, by, says),
		inBoth("another component", admission.Update, edits{func(e *corev1.Event) { e.Source.Component = "x" }}, edits{}, by,
			says),
		inBoth("another name", admission.Update, about(func(o *corev1.ObjectReference) { o.Name = "theirs" }), edits{}, by,
			says),
		inBoth("another namespace", admission.Update, about(func(o *corev1.ObjectReference) { o.Namespace = "kube-system" }),
			edits{}, by, says),
		inBoth("another kind", admission.Update, about(func(o *corev1.ObjectReference) { o.Kind = "Node" }), edits{}, by,
			says),
		inBoth("another UID", admission.Update, about(func(o *corev1.ObjectReference) { o.UID = "theirs-uid" }), edits{}, by,
			says),
		inBoth("another version", admission.Update, about(func(o *corev1.ObjectReference) { o.APIVersion = "v2" }), edits{},
			by, says),
		inBoth("a related one", admission.Update, related("me"), edits{}, by, says),
		inBoth("another related", admission.Update, related("other"), related("me"), by, says),
		inBoth("no related any more", admission.Update, edits{}, related("me"), by, says),
	)
	run(t, restrict(aCluster(), enforce(by)), append(rows,
		row{name: "update without an old object: denied",
			write: write("me", admission.Update, "events", "", anEvent(), nil), by: by,
			says: `events "mine.1" is forbidden: unexpected type <nil> [NR-EVENT-3]`},
		row{name: "update without a new object: denied",
			write: write("me", admission.Update, "events", "", nil, anEvent()), by: by,
			says: `events "mine.1" is forbidden: unexpected type <nil> [NR-EVENT-3]`},
		row{name: "create of the same event: allowed", write: write("me", admission.Create, "events", "", anEvent(), nil)},
	))
	run(t, restrict(aCluster()), inBoth("off", admission.Update, edits{}, edits{from("other", "other")}, "", ""))
}

func TestEventDelete(t *testing.T) {
	const says = `node "me" can only delete events with itself as source.host and reportingInstance`
	run(t, restrict(aCluster(), enforce("NR-EVENT-4")), append(slices.Concat(
		inBoth("its own", admission.Delete, nil, edits{}, "", ""),
		inBoth("another's", admission.Delete, nil, edits{from("other", "other")}, "NR-EVENT-4", says),
	),
		row{name: "delete without an object: denied",
			write: write("me", admission.Delete, "events", "", nil, nil, named("mine.1")), by: "NR-EVENT-4",
			says: `events "mine.1" is forbidden: unexpected type <nil> [NR-EVENT-4]`},
		row{name: "delete a collection with other nodes' events: denied",
			write: write("me", admission.Delete, "events", "", nil, anEvent(from("other", "other")), named("")),
			by:    "NR-EVENT-4", says: `events "Unknown" is forbidden: ` + says + " [NR-EVENT-4]"},
	))
	run(t, restrict(aCluster()), inBoth("off", admission.Delete, nil, edits{from("other", "other")}, "", ""))
}

// TestEventsInAudit also checks that no lookup is made while all rules are off.
func TestEventsInAudit(t *testing.T) {
	failing := aCluster()
	failing.err = errors.New("timeout")
	bad := write("me", admission.Update, "events", "",
		anEvent(from("other", "other"), regarding("v1", "Pod", "default", "theirs", "theirs-uid")),
		anEvent(from("other", "")))
	if v := restrict(failing).Review(t.Context(), bad); !v.Allowed() || v.Audited() != nil {
		t.Errorf("off: %+v", v)
	}
	v := restrict(aCluster(),
		inMode(rules.Audit, "NR-EVENT-1", "NR-EVENT-2", "NR-EVENT-3", "NR-EVENT-4")).Review(t.Context(), bad)
	if !v.Allowed() || !slices.Equal(v.Audited(), []rules.ID{"NR-EVENT-3", "NR-EVENT-1", "NR-EVENT-2"}) {
		t.Errorf("audit: %+v", v)
	}
}

// TestCountedEventNeedsNoLookup checks the update that a kubelet sends each time an event occurs
// again, in a cluster whose lookups fail.
func TestCountedEventNeedsNoLookup(t *testing.T) {
	failing := aCluster()
	failing.err = errors.New("timeout")
	r := restrict(failing, func(c *Config) { c.Modes = Modes(rules.Enforce) })
	q := &request{Attributes: write("me", admission.Update, "events", "", anEvent(), anEvent()), node: "me"}
	if refused := r.reviewEvent(t.Context(), q); refused != nil {
		t.Error(refused.Reason())
	}
}

func TestLargeEvents(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	run(t, restrict(aCluster(), enforce("NR-EVENT-2")), slices.Concat(
		inBoth("a name", admission.Create, edits{regarding("v1", "Pod", "default", huge, "mine-uid")}, nil, "NR-EVENT-2",
			notAbout),
		inBoth("a UID", admission.Create, edits{regarding("v1", "Pod", "default", "mine", huge)}, nil, "NR-EVENT-2",
			notAbout),
		inBoth("a version", admission.Create, edits{regarding(huge, "Pod", "default", "mine", "mine-uid")}, nil, "NR-EVENT-2",
			notAbout),
		inBoth("a version of many parts", admission.Create,
			edits{regarding("a/b/c/v1", "Pod", "default", "mine", "mine-uid")}, nil, "NR-EVENT-2", notAbout),
		inBoth("a kind", admission.Create, edits{regarding("v1", huge, "default", "mine", "mine-uid")}, nil, "NR-EVENT-2",
			notAbout),
	))
}
