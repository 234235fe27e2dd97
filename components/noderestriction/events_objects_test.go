// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
)

const (
	notAbout     = `node "me" can only write events about itself, its own pods, and objects that they bring to it`
	notNamespace = `node "me" can only write an event in the namespace of the object that it is about, ` +
		`and in default for one without`
)

func regarding(version, kind, namespace, name, uid string) func(*corev1.Event) {
	return func(e *corev1.Event) {
		e.InvolvedObject = corev1.ObjectReference{APIVersion: version, Kind: kind, Namespace: namespace, Name: name,
			UID: types.UID(uid)}
	}
}

func relating(version, kind, namespace, name, uid string) func(*corev1.Event) {
	return func(e *corev1.Event) {
		e.Related = &corev1.ObjectReference{APIVersion: version, Kind: kind, Namespace: namespace, Name: name,
			UID: types.UID(uid)}
	}
}

func written(namespace string) func(*corev1.Event) {
	return func(e *corev1.Event) { e.Namespace = namespace }
}

// creating returns the rows for the creation of an event.
func creating(name string, all edits, says string) []row {
	if says == "" {
		return inBoth(name, admission.Create, all, nil, "", "")
	}
	return inBoth(name, admission.Create, all, nil, "NR-EVENT-2", says)
}

func TestEventsAboutNodes(t *testing.T) {
	run(t, restrict(aCluster(), enforce("NR-EVENT-2")), slices.Concat(
		creating("itself, by name", edits{regarding("v1", "Node", "", "me", "")}, ""),
		creating("itself, as an old kubelet says it", edits{regarding("", "Node", "", "me", "me")}, ""),
		creating("itself, by the UID of a Node that was", edits{regarding("v1", "Node", "", "me", "gone-uid")}, ""),
		creating("another", edits{regarding("v1", "Node", "", "other", "")}, notAbout),
		creating("another, by its own UID", edits{regarding("v1", "Node", "", "other", "me-uid")}, notAbout),
		creating("nothing by name", edits{regarding("v1", "Node", "", "", "me-uid")}, notAbout),
		creating("what is no Node of Kubernetes", edits{regarding("example.com/v1", "Node", "", "me", "")}, notAbout),
		creating("of another version", edits{regarding("v2", "Node", "", "me", "")}, notAbout),
		creating("in another case", edits{regarding("v1", "node", "", "me", "")}, notAbout),
		creating("in another namespace than default", edits{written("kube-system"), regarding("v1", "Node", "", "me", "")},
			notNamespace),
		creating("with a namespace", edits{written("kube-system"), regarding("v1", "Node", "kube-system", "me", "")},
			notAbout),
	))
}

func TestEventsAboutPods(t *testing.T) {
	c := aCluster()
	c.boundTo = map[types.UID]string{"gone-uid": "me", "their-gone-uid": "other", "unbound-uid": ""}
	c.pods["kube-system/static-me"] = aMirrorPod("me", func(p *corev1.Pod) { p.UID = "static-me-uid" })
	c.pods["kube-system/static-other"] = aMirrorPod("other", func(p *corev1.Pod) { p.UID = "static-other-uid" })
	pod := func(namespace, name, uid string) edits {
		return edits{written(namespace), regarding("v1", "Pod", namespace, name, uid)}
	}
	run(t, restrict(c, enforce("NR-EVENT-2")), slices.Concat(
		creating("its pod", edits{}, ""),
		creating("its pod, without a version", edits{regarding("", "Pod", "default", "mine", "mine-uid")}, ""),
		creating("another's pod", pod("default", "theirs", "theirs-uid"), notAbout),
		creating("its pod's name with another's UID", pod("default", "mine", "theirs-uid"), notAbout),
		creating("its pod's name without a UID", pod("default", "mine", ""), notAbout),
		creating("its pod in another namespace", pod("kube-system", "mine", "mine-uid"), notAbout),
		creating("a pod without a namespace", edits{regarding("v1", "Pod", "", "mine", "mine-uid")}, notAbout),
		creating("an event in another namespace", edits{written("kube-system")}, notNamespace),
		creating("its pod that is gone", pod("default", "gone", "gone-uid"), ""),
		creating("another's that is gone", pod("default", "gone", "their-gone-uid"), notAbout),
		creating("a pod that is bound to nothing", pod("default", "unbound", "unbound-uid"), notAbout),
		creating("a pod that never was", pod("default", "never", "never-uid"), notAbout),
		creating("its static pod, by the hash", pod("kube-system", "static-me", "hash"), ""),
		creating("its static pod, by the mirror's UID", pod("kube-system", "static-me", "static-me-uid"), ""),
		creating("its static pod, by another hash", pod("kube-system", "static-me", "other"), notAbout),
		creating("another's static pod, by the hash", pod("kube-system", "static-other", "hash"), notAbout),
		creating("a pod that is no mirror, by no hash", pod("default", "mine", ""), notAbout),
	))
}

func TestEventsAboutPodResources(t *testing.T) {
	z := &fakeAuthorizer{granted: []Right{
		{Verb: "get", Version: "v1", Resource: "persistentvolumeclaims", Namespace: "default", Name: "data"},
		{Verb: "get", Version: "v1", Resource: "persistentvolumes", Name: "pv"},
		{Verb: "get", Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims", Namespace: "default", Name: "gpu"},
		{Verb: "get", Version: "v1", Resource: "services", Namespace: "default", Name: "kubernetes"},
	}}
	run(t, restrict(aCluster(), enforce("NR-EVENT-2"), grants(z)), slices.Concat(
		creating("a claim", edits{regarding("v1", "PersistentVolumeClaim", "default", "data", "x")}, ""),
		creating("another claim", edits{regarding("v1", "PersistentVolumeClaim", "default", "other", "x")}, notAbout),
		creating("a claim elsewhere",
			edits{written("kube-system"), regarding("v1", "PersistentVolumeClaim", "kube-system", "data", "x")}, notAbout),
		creating("a volume", edits{regarding("v1", "PersistentVolume", "", "pv", "x")}, ""),
		creating("a volume, elsewhere", edits{written("kube-system"), regarding("v1", "PersistentVolume", "", "pv", "x")},
			notNamespace),
		creating("a volume with a namespace", edits{regarding("v1", "PersistentVolume", "default", "pv", "x")}, notAbout),
		creating("a resource claim of an older version",
			edits{regarding("resource.k8s.io/v1beta1", "ResourceClaim", "default", "gpu", "x")}, ""),
		creating("a claim of another group",
			edits{regarding("example.com/v1", "PersistentVolumeClaim", "default", "data", "x")}, notAbout),
		creating("what every node may get", edits{regarding("v1", "Service", "default", "kubernetes", "x")}, notAbout),
		creating("a claim that is related", edits{relating("v1", "PersistentVolumeClaim", "default", "data", "x")}, ""),
		creating("another that is related", edits{relating("v1", "PersistentVolumeClaim", "default", "other", "x")},
			notAbout),
		creating("another's pod that is related", edits{relating("v1", "Pod", "default", "theirs", "theirs-uid")}, notAbout),
		creating("itself as related", edits{relating("v1", "Node", "", "me", "")}, ""),
		creating("an empty related", edits{relating("", "", "", "", "")}, notAbout),
	))
	run(t, restrict(aCluster(), enforce("NR-EVENT-2")),
		creating("without an authorizer", edits{regarding("v1", "PersistentVolume", "", "pv", "x")}, notAbout))
}

func TestEventObjectsOfUpdates(t *testing.T) {
	const by = "NR-EVENT-2"
	theirs := regarding("v1", "Pod", "default", "theirs", "theirs-uid")
	run(t, restrict(aCluster(), enforce(by)), append(slices.Concat(
		inBoth("what it was about is not asked again", admission.Update, edits{theirs}, edits{theirs}, "", ""),
		inBoth("what it is about now is", admission.Update, edits{theirs}, edits{}, by, notAbout),
		inBoth("and so is a new related one", admission.Update, edits{relating("v1", "Node", "", "other", "")}, edits{}, by,
			notAbout),
	),
		row{name: "update without an old object is checked as a create",
			write: write("me", admission.Update, "events", "", anEvent(theirs), nil), by: by,
			says: `events "mine.1" is forbidden: ` + notAbout + " [NR-EVENT-2]"},
		row{name: "create without an object: denied",
			write: write("me", admission.Create, "events", "", nil, nil, named("mine.1")), by: by,
			says: `events "mine.1" is forbidden: unexpected type <nil> [NR-EVENT-2]`},
	))
}

func TestEventsAreDeniedIfTheLookupFails(t *testing.T) {
	const by = "NR-EVENT-2"
	failing := aCluster()
	failing.err = errors.New("timeout")
	broken := grants(&fakeAuthorizer{err: errors.New("timeout")})
	const says = "timeout [NR-EVENT-2]"
	run(t, restrict(failing, enforce(by), broken), []row{
		{name: "a pod", write: write("me", admission.Create, "events", "", anEvent(), nil), by: by, code: 500, says: says},
		{name: "a claim", write: write("me", admission.Create, "events", "",
			anEvent(regarding("v1", "PersistentVolumeClaim", "default", "data", "x")), nil), by: by, code: 500, says: says},
		{name: "itself needs no answer",
			write: write("me", admission.Create, "events", "", anEvent(regarding("v1", "Node", "", "me", "")), nil)},
	})
}
