// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// pageSize bounds the objects that are read in one namespace, or in all.
	pageSize = "?limit=500"
	// kept is the number of objects of each relation that are read by name, for the deep resources.
	// For other resources it is one.
	kept = 20
)

// deep are the resources where the right to read may differ from object to object.
var deep = []string{"secrets", "configmaps", "serviceaccounts", "pods", "nodes", "leases.coordination.k8s.io",
	"persistentvolumeclaims", "persistentvolumes"}

// sample reads the objects of all resources.
func (r reader) sample(ctx context.Context, all []resource, w *world, whose belongings) {
	GinkgoHelper()
	for _, of := range all {
		if !of.can("list") {
			continue
		}
		found := r.objects(ctx, of, whose, of.path("", "", ""))
		if of.Namespaced {
			for _, namespace := range []string{metav1.NamespaceSystem, w.Namespace} {
				found = slices.Concat(r.objects(ctx, of, whose, of.path(namespace, "", "")), found)
			}
		}
		w.Samples[of.GroupResource()] = chosen(of, found)
	}
	for _, of := range all {
		r.readBelow(ctx, of, w.Samples[of.GroupResource()])
	}
}

func (r reader) objects(ctx context.Context, of resource, whose belongings, path string) []object {
	GinkgoHelper()
	list, err := r.read(ctx, path+pageSize)
	Expect(err).NotTo(HaveOccurred())
	items, _ := list["items"].([]any)
	var all []object
	for _, item := range items {
		body, ok := item.(map[string]any)
		if !ok {
			continue
		}
		o := object{Relation: whose.relationOf(of.GroupResource(), body), Body: body}
		metadata, _ := body["metadata"].(map[string]any)
		o.Namespace, _ = metadata["namespace"].(string)
		o.Name, _ = metadata["name"].(string)
		all = append(all, o)
	}
	return all
}

// chosen keeps the first few objects of each relation, each once.
func chosen(of resource, found []object) []object {
	most := 1
	if slices.Contains(deep, of.String()) {
		most = kept
	}
	var all []object
	counts, seen := map[relation]int{}, map[string]bool{}
	for _, o := range found {
		if seen[o.String()] || counts[o.Relation] == most {
			continue
		}
		seen[o.String()] = true
		counts[o.Relation]++
		all = append(all, o)
	}
	return all
}

// readBelow reads the writable subresources of the first object of each relation, to use the result
// as a body. Where a subresource cannot be read, the object itself is the body.
func (r reader) readBelow(ctx context.Context, of resource, samples []object) {
	GinkgoHelper()
	first := map[relation]bool{}
	for i := range samples {
		o := &samples[i]
		if first[o.Relation] {
			continue
		}
		first[o.Relation] = true
		for _, sub := range of.Subresources {
			if !slices.Contains(sub.Verbs, "get") || !slices.Contains(sub.Verbs, "update") || sub.Name == "proxy" {
				continue
			}
			body, err := r.read(ctx, of.path(o.Namespace, o.Name, sub.Name))
			Expect(err).NotTo(HaveOccurred())
			if o.Below == nil {
				o.Below = map[string]map[string]any{}
			}
			o.Below[sub.Name] = body
		}
	}
}
