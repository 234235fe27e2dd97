// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// world is everything in the cluster that an attempt can target, as an administrator sees it.
type world struct {
	// Own and Other are the nodes.
	Own, Other string
	// Namespace is the stage's.
	Namespace string
	// Samples are existing objects, by resource, those of the stage first.
	Samples map[schema.GroupResource][]object
	// Made are new objects to create, where a copy of a sample is not suitable.
	Made map[schema.GroupResource][]object
	// Tokens are token requests. Their names are those of the accounts.
	Tokens []object
	// Logs has one running container for each node, as a kubelet's path names it.
	Logs map[string]string
}

// object is one object with its relation.
type object struct {
	Relation  relation
	Namespace string
	Name      string
	Body      map[string]any
	// Below are its readable subresources.
	Below map[string]map[string]any
}

// String returns namespace/name.
func (o object) String() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

const (
	// missingName is the name of an object that does not exist. newName is the name of objects to
	// create.
	missingName = "e2e-crawled-nothing"
	newName     = "e2e-crawled"
)

// firsts returns the first object of each relation, or an object that does not exist. A denial
// happens before the lookup of the object.
func (w world) firsts(r resource) []object {
	var all []object
	for _, whose := range []relation{own, other, unrelated} {
		samples := w.Samples[r.GroupResource()]
		if i := slices.IndexFunc(samples, func(o object) bool { return o.Relation == whose }); i >= 0 {
			all = append(all, samples[i])
		}
	}
	if len(all) == 0 {
		all = append(all, w.bare(r, missingName))
	}
	return all
}

// bare returns an object that has only a name. It is not valid.
func (w world) bare(r resource, name string) object {
	o := object{Relation: unrelated, Name: name, Body: map[string]any{"metadata": map[string]any{"name": name}}}
	if r.Namespaced {
		o.Namespace = w.Namespace
	}
	return o
}

// newObjects returns the objects of the resource to create.
func (w world) newObjects(r resource) []object {
	if made := w.Made[r.GroupResource()]; len(made) > 0 {
		return made
	}
	var all []object
	for _, o := range w.firsts(r) {
		if o.Name == missingName {
			return []object{w.bare(r, newName)}
		}
		renewed := renamed(o)
		if _, namesNode := nodePlaces[r.String()]; !namesNode || r.String() == "nodes" ||
			r.String() == "csinodes.storage.k8s.io" {
			// The relation depends on the name, which is new.
			renewed.Relation = unrelated
			return []object{renewed}
		}
		all = append(all, renewed)
	}
	return all
}

// renamed returns a copy with a new name, without the fields that the API server adds.
func renamed(o object) object {
	u := unstructured.Unstructured{Object: runtimeCopy(o.Body)}
	kept := map[string]any{"name": newName}
	if o.Namespace != "" {
		kept["namespace"] = o.Namespace
	}
	for _, field := range []string{"labels", "annotations"} {
		if value, ok, _ := unstructured.NestedMap(u.Object, "metadata", field); ok {
			kept[field] = value
		}
	}
	u.Object["metadata"] = kept
	delete(u.Object, "status")
	for _, taken := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		unstructured.RemoveNestedField(u.Object, "spec", taken)
	}
	return object{Relation: o.Relation, Namespace: o.Namespace, Name: newName, Body: u.Object}
}

// typed returns the body with apiVersion and kind of the resource, as the API server requires.
func typed(body map[string]any, as schema.GroupVersionKind) map[string]any {
	copied := runtimeCopy(body)
	copied["apiVersion"], copied["kind"] = as.GroupVersion().String(), as.Kind
	return copied
}

// moved returns the object in another namespace.
func moved(o object, namespace string) object {
	o.Body, o.Namespace = runtimeCopy(o.Body), namespace
	if err := unstructured.SetNestedField(o.Body, namespace, "metadata", "namespace"); err != nil {
		panic(fmt.Sprintf("%s has no metadata: %v", o, err))
	}
	return o
}

func runtimeCopy(body map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: body}).DeepCopy().Object
}

// asObject converts a typed object.
func asObject(whose relation, from metav1.Object) object {
	encoded, err := json.Marshal(from)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", from, err)) // cannot happen: the suite made the object
	}
	o := object{Relation: whose, Namespace: from.GetNamespace(), Name: from.GetName(), Body: map[string]any{}}
	if err := json.Unmarshal(encoded, &o.Body); err != nil {
		panic(fmt.Sprintf("decoding %T: %v", from, err))
	}
	return o
}
