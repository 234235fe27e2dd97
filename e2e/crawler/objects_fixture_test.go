// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// skipped describes what was not tried, and why.
type skipped struct {
	What, Why string
	Count     int
}

const notDry = "another server answers, and it may not support dry runs"

// attempts returns everything that each credential tries. The result depends only on the resources
// and the world.
func attempts(all []resource, w world) (made []attempt, not []skipped) {
	for _, r := range all {
		of := slices.Concat(ofObjects(r, w), ofCollections(r, w), creations(r, w), ofSubresources(r, w))
		if r.Remote {
			kept := slices.DeleteFunc(slices.Clone(of), func(a attempt) bool { return a.Query.Has(dryRun) })
			not = append(not, skipped{What: "writes of " + r.String(), Why: notDry, Count: len(of) - len(kept)})
			of = kept
		}
		made = append(made, of...)
	}
	return slices.Concat(made, ofPaths(), ofPorts(w), ofImpersonations(w)), not
}

// namedIn returns an attempt at one object or one of its subresources.
func namedIn(r resource, verb string, o object, sub string) attempt {
	what := r.String()
	if sub != "" {
		what = r.Resource + "/" + sub
		if r.Group != "" {
			what += "." + r.Group
		}
	}
	return newAttempt(byAPI, verb, what, o.Relation, r.path(o.Namespace, o.Name, sub)).about(o.String())
}

// touched is a patch that changes an annotation of an object, and not its content.
var touched = map[string]any{
	"metadata": map[string]any{"annotations": map[string]any{"e2e.bulkhead.dev/crawled": "true"}},
}

// patches returns one patch that changes something and one that changes nothing. A caller who is
// denied the first patch may still have the right to patch.
func patches(a attempt) []attempt {
	return []attempt{a.sending(mergePatch, touched), a.sending(mergePatch, map[string]any{})}
}

// ofObjects reads all samples, and tries to change the first sample of each relation.
func ofObjects(r resource, w world) []attempt {
	var all []attempt
	samples := w.Samples[r.GroupResource()]
	if len(samples) == 0 {
		samples = w.firsts(r)
	}
	for _, o := range samples {
		if r.can("get") {
			all = append(all, namedIn(r, "get", o, ""))
		}
	}
	for _, o := range w.firsts(r) {
		if r.can("update") {
			a := namedIn(r, "update", o, "").sending(plainJSON, typed(o.Body, r.GroupVersion().WithKind(r.Kind)))
			a.Fresh = a.Path
			all = append(all, a)
		}
		if r.can("patch") {
			all = append(all, patches(namedIn(r, "patch", o, ""))...)
		}
		if r.can("delete") {
			all = append(all, namedIn(r, "delete", o, ""))
		}
	}
	return all
}

// nodeFields are the field selectors for a node. Other resources have no such field.
var nodeFields = map[string]string{
	"pods":                            "spec.nodeName",
	"resourceslices.resource.k8s.io":  "spec.nodeName",
	"podcertificaterequests." + certs: "spec.nodeName",
}

// ofCollections returns attempts at many objects at once: all, those of a namespace, those of a
// node, and one object by name.
func ofCollections(r resource, w world) []attempt {
	var all []attempt
	for _, verb := range []string{"list", "watch", "deletecollection"} {
		if !r.can(verb) {
			continue
		}
		for _, namespace := range w.placesOf(r, verb) {
			all = append(all, collection(r, verb, unrelated, namespace, ""))
		}
		if field := nodeFields[r.String()]; field != "" {
			namespace := w.placesOf(r, verb)[0]
			all = append(all, collection(r, verb, own, namespace, field+"="+w.Own),
				collection(r, verb, other, namespace, field+"="+w.Other))
		}
		for _, o := range w.firsts(r) {
			all = append(all, collection(r, verb, o.Relation, o.Namespace, "metadata.name="+o.Name))
		}
	}
	return all
}

// placesOf returns the paths of collections. The API has no deletion of a collection in all
// namespaces at once, even for an administrator.
func (w world) placesOf(r resource, verb string) []string {
	switch {
	case !r.Namespaced:
		return []string{""}
	case verb == "deletecollection":
		return []string{w.Namespace, metav1.NamespaceSystem}
	}
	return []string{"", w.Namespace, metav1.NamespaceSystem}
}

func collection(r resource, verb string, whose relation, namespace, selector string) attempt {
	a := newAttempt(byAPI, verb, r.String(), whose, r.path(namespace, "", "")).about("in " + namespace + " " + selector)
	if namespace == "" {
		a = a.about("all " + selector)
	}
	if selector != "" {
		a = a.asking("fieldSelector", selector)
	}
	switch verb {
	case "list":
		return a.asking("limit", "1")
	case "watch":
		return a.asking("watch", "true").asking("timeoutSeconds", "1")
	}
	return a
}

// creations tries to create objects, in the samples' namespace and in kube-system.
func creations(r resource, w world) []attempt {
	if !r.can("create") {
		return nil
	}
	var all []attempt
	create := func(o object) {
		a := newAttempt(byAPI, "create", r.String(), o.Relation,
			r.path(o.Namespace, "", "")).about(cmp.Or(o.String(), "a question"))
		all = append(all, a.sending(plainJSON, typed(o.Body, r.GroupVersion().WithKind(r.Kind))))
	}
	for i, o := range w.newObjects(r) {
		create(o)
		if i == 0 && r.Namespaced && o.Relation != none && o.Namespace != metav1.NamespaceSystem {
			create(moved(o, metav1.NamespaceSystem))
		}
	}
	return all
}
