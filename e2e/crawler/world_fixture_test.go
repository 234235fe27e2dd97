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

// world is what there is to reach, as an administrator sees it.
type world struct {
	// Own and Other are the nodes.
	Own, Other string
	// Namespace is the stage's.
	Namespace string
	// Samples are objects that exist, by resource, those of the stage first.
	Samples map[schema.GroupResource][]object
	// Made are objects that do not exist, to be created where a copy of a sample would
	// not do.
	Made map[schema.GroupResource][]object
	// Tokens are requests for tokens. Their names are those of the accounts.
	Tokens []object
	// Logs are containers that run, by node, as a kubelet has them in a path.
	Logs map[string]string
}

// object is one object, whoever it belongs to.
type object struct {
	Relation  relation
	Namespace string
	Name      string
	Body      map[string]any
	// Below are its subresources that can be read.
	Below map[string]map[string]any
}

// String is namespace/name.
func (o object) String() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

const (
	// nobody is the name of what does not exist, and newName of what is made.
	nobody  = "e2e-crawled-nothing"
	newName = "e2e-crawled"
)

// firsts are the first object of each relation, or one that does not exist: what is
// refused there is refused before anybody looks for it.
func (w world) firsts(r resource) []object {
	var all []object
	for _, whose := range []relation{own, other, unrelated} {
		samples := w.Samples[r.GroupResource()]
		if i := slices.IndexFunc(samples, func(o object) bool { return o.Relation == whose }); i >= 0 {
			all = append(all, samples[i])
		}
	}
	if len(all) == 0 {
		all = append(all, w.bare(r, nobody))
	}
	return all
}

// bare is an object that has a name, and nothing that would make it valid.
func (w world) bare(r resource, name string) object {
	o := object{Relation: unrelated, Name: name, Body: map[string]any{"metadata": map[string]any{"name": name}}}
	if r.Namespaced {
		o.Namespace = w.Namespace
	}
	return o
}

// news are the objects of the resource that are to be created.
func (w world) news(r resource) []object {
	if made := w.Made[r.GroupResource()]; len(made) > 0 {
		return made
	}
	var all []object
	for _, o := range w.firsts(r) {
		if o.Name == nobody {
			return []object{w.bare(r, newName)}
		}
		renewed := renamed(o)
		if _, namesNode := nodePlaces[r.String()]; !namesNode || r.String() == "nodes" ||
			r.String() == "csinodes.storage.k8s.io" {
			// Whose it would be is in its name, which is new.
			renewed.Relation = unrelated
			return []object{renewed}
		}
		all = append(all, renewed)
	}
	return all
}

// renamed is a copy under a new name, without what the API server adds.
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

// typed is the body with the type of the resource, as the API server wants it.
func typed(body map[string]any, as schema.GroupVersionKind) map[string]any {
	copied := runtimeCopy(body)
	copied["apiVersion"], copied["kind"] = as.GroupVersion().String(), as.Kind
	return copied
}

// moved is the body in another namespace.
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

// asObject makes an object of a typed one.
func asObject(whose relation, from metav1.Object) object {
	encoded, err := json.Marshal(from)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", from, err)) // of our own making
	}
	o := object{Relation: whose, Namespace: from.GetNamespace(), Name: from.GetName(), Body: map[string]any{}}
	if err := json.Unmarshal(encoded, &o.Body); err != nil {
		panic(fmt.Sprintf("decoding %T: %v", from, err))
	}
	return o
}
