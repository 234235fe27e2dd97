// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

func TestNewObjectsAreCopiesWithNewName(t *testing.T) {
	w := imagined()
	service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"},
		Ports: []corev1.ServicePort{{Port: 80}}}}
	service.Namespace, service.Name, service.UID, service.ResourceVersion = "stage", "web", "1", "2"
	service.Labels = map[string]string{"app": "web"}
	w.Samples[api.Services.GroupResource()] = []object{asObject(own, service)}
	news := w.newObjects(resource{GroupVersionResource: api.Services, Kind: "Service", Namespaced: true})
	// A service does not name a node, so a new service is unrelated.
	if len(news) != 1 || news[0].Relation != unrelated || news[0].Namespace != "stage" {
		t.Fatalf("news: %+v", news)
	}
	spec, _ := news[0].Body["spec"].(map[string]any)
	metadata, _ := news[0].Body["metadata"].(map[string]any)
	if spec["clusterIP"] != nil || spec["clusterIPs"] != nil || spec["ports"] == nil {
		t.Errorf("spec: %v", spec)
	}
	if metadata["name"] != newName || metadata["uid"] != nil || metadata["resourceVersion"] != nil ||
		metadata["labels"] == nil {
		t.Errorf("metadata: %v", metadata)
	}
	if before, _ := w.Samples[api.Services.GroupResource()][0].Body["metadata"].(map[string]any); before["name"] != "web" {
		t.Error("the sample itself was renamed")
	}
}

func TestNewObjectsThatNameTheirNode(t *testing.T) {
	w := imagined()
	w.Samples[api.ResourceSlices.GroupResource()] = []object{asObject(own, fixtures.ResourceSlice("a", "n1")),
		asObject(other, fixtures.ResourceSlice("b", "n2"))}
	news := w.newObjects(resource{GroupVersionResource: api.ResourceSlices, Kind: "ResourceSlice"})
	if len(news) != 2 || news[0].Relation != own || news[1].Relation != other {
		t.Errorf("slices: %+v", news)
	}
	if news := w.newObjects(resource{GroupVersionResource: api.Nodes, Kind: "Node"}); len(news) != 1 ||
		news[0].Relation != unrelated {
		t.Errorf("a Node of a new name is unrelated to both nodes: %+v", news)
	}
}

func TestMissingObjectsAreRequestedByName(t *testing.T) {
	r := resource{GroupVersionResource: api.RuntimeClasses, Kind: "RuntimeClass", Verbs: allVerbs}
	all := ofObjects(r, imagined())
	if !slices.ContainsFunc(all,
		func(a attempt) bool { return a.Verb == "get" && a.Object == missingName && a.Relation == unrelated }) {
		t.Errorf("attempts: %v", all)
	}
}

func TestChosen(t *testing.T) {
	several := []object{{Relation: own, Name: "a"}, {Relation: own, Name: "a"}, {Relation: own, Name: "b"},
		{Relation: other, Name: "c"}}
	if got := chosen(resource{GroupVersionResource: api.Services}, several); len(got) != 2 || got[1].Name != "c" {
		t.Errorf("one of each: %+v", got)
	}
	if got := chosen(resource{GroupVersionResource: api.Secrets}, several); len(got) != 3 {
		t.Errorf("several of each, each once: %+v", got)
	}
}
