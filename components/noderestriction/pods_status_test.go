// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"
)

const aboutMyPod = `pods "mine" is forbidden: `

// updateStatus is of the pod mine, from one with the first edit to one with the second.
func updateStatus(before, after podEdit) admission.Attributes {
	return write("me", admission.Update, "pods", "status", aPod("default", "mine", "me", after),
		aPod("default", "mine", "me", before))
}

func samePod(*corev1.Pod) {}

func TestPodStatus(t *testing.T) {
	mine, theirs, pending := aPod("default", "mine", "me"), aPod("default", "theirs", "other"),
		aPod("default", "pending", "")
	bound := `node "me" can only update pod status for pods with spec.nodeName set to itself [NR-POD-6]`
	taken := aPod("default", "mine", "other")
	run(t, restrict(&fakeCluster{}), []row{
		{name: "a node updates the status of its pod", write: updateStatus(samePod, func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1",
				ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}}}
		})},
		{name: "and of no other's", write: write("me", admission.Update, "pods", "status", theirs, theirs), by: "NR-POD-6",
			says: `pods "theirs" is forbidden: ` + bound},
		{name: "nor of nobody's", write: write("me", admission.Update, "pods", "status", pending, pending), by: "NR-POD-6",
			says: `pods "pending" is forbidden: ` + bound},
		{name: "nor of one that only it says is its own", write: write("me", admission.Update, "pods", "status", mine, taken),
			by: "NR-POD-6", says: aboutMyPod + bound},
		{name: "it does not create it", write: write("me", admission.Create, "pods", "status", mine, nil), by: "NR-POD-6",
			says: aboutMyPod + `unexpected operation "CREATE" [NR-POD-6]`},
		{name: "nor deletes it", write: write("me", admission.Delete, "pods", "status", nil, mine), by: "NR-POD-6",
			says: aboutMyPod + `unexpected operation "DELETE" [NR-POD-6]`},
		{name: "nothing becomes a pod", write: write("me", admission.Update, "pods", "status", mine, nil), by: "NR-POD-6",
			says: aboutMyPod + "unexpected type <nil> [NR-POD-6]"},
		{name: "a pod does not become nothing", write: write("me", admission.Update, "pods", "status", nil, mine),
			by: "NR-POD-6", says: aboutMyPod + "unexpected type <nil> [NR-POD-6]"},
		{name: "nor a node", write: write("me", admission.Update, "pods", "status", aNode("me"), mine, named("mine")),
			by: "NR-POD-6", says: aboutMyPod + "unexpected type *v1.Node [NR-POD-6]"},
	})
}

func TestPodStatusLabels(t *testing.T) {
	set := func(labels map[string]string) podEdit { return func(p *corev1.Pod) { p.Labels = labels } }
	says := aboutMyPod + `node "me" cannot update labels through pod status [NR-POD-7]`
	run(t, restrict(aCluster()), []row{
		{name: "labels stay", write: updateStatus(set(map[string]string{"a": "1"}), set(map[string]string{"a": "1"}))},
		{name: "an empty map is none", write: updateStatus(set(map[string]string{}), set(nil))},
		{name: "none comes", write: updateStatus(set(nil), set(map[string]string{"a": "1"})), by: "NR-POD-7", says: says},
		{name: "nor an empty one", write: updateStatus(set(map[string]string{"b": ""}), set(map[string]string{"a": ""})),
			by: "NR-POD-7", says: says},
		{name: "none goes", write: updateStatus(set(map[string]string{"a": "1"}), set(nil)), by: "NR-POD-7", says: says},
		{name: "none changes", write: updateStatus(set(map[string]string{"a": "1"}), set(map[string]string{"a": "2"})),
			by: "NR-POD-7", says: says},
	})
}

func TestPodStatusClaims(t *testing.T) {
	claims := func(statuses ...corev1.PodResourceClaimStatus) podEdit {
		return func(p *corev1.Pod) { p.Status.ResourceClaimStatuses = statuses }
	}
	one := corev1.PodResourceClaimStatus{Name: "gpu", ResourceClaimName: ptr.To("claim")}
	two := corev1.PodResourceClaimStatus{Name: "nic"}
	says := aboutMyPod + `node "me" cannot update resource claim statues [NR-POD-7]`
	run(t, restrict(aCluster()), []row{
		{name: "they stay", write: updateStatus(claims(one, two),
			claims(corev1.PodResourceClaimStatus{Name: "gpu", ResourceClaimName: ptr.To("claim")}, two))},
		{name: "an empty list is none", write: updateStatus(claims([]corev1.PodResourceClaimStatus{}...), claims())},
		{name: "none comes", write: updateStatus(claims(), claims(one)), by: "NR-POD-7", says: says},
		{name: "none goes", write: updateStatus(claims(one), claims()), by: "NR-POD-7", says: says},
		{name: "they keep their order", write: updateStatus(claims(one, two), claims(two, one)), by: "NR-POD-7", says: says},
		{name: "their names", write: updateStatus(claims(two), claims(corev1.PodResourceClaimStatus{Name: "x"})),
			by: "NR-POD-7", says: says},
		{name: "their claims",
			write: updateStatus(claims(one), claims(corev1.PodResourceClaimStatus{Name: "gpu", ResourceClaimName: ptr.To("x")})),
			by:    "NR-POD-7", says: says},
		{name: "that they have one", write: updateStatus(claims(one), claims(corev1.PodResourceClaimStatus{Name: "gpu"})),
			by: "NR-POD-7", says: says},
		{name: "that they have none",
			write: updateStatus(claims(two), claims(corev1.PodResourceClaimStatus{Name: "nic", ResourceClaimName: ptr.To("")})),
			by:    "NR-POD-7", says: says},
	})
}

func TestPodStatusExtendedClaim(t *testing.T) {
	claim := func(edits ...func(*corev1.PodExtendedResourceClaimStatus)) podEdit {
		return func(p *corev1.Pod) {
			status := &corev1.PodExtendedResourceClaimStatus{
				ResourceClaimName: "claim",
				RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "example.com/gpu",
					RequestName: "r"}},
			}
			for _, edit := range edits {
				edit(status)
			}
			p.Status.ExtendedResourceClaimStatus = status
		}
	}
	says := aboutMyPod + `node "me" cannot update extended resource claim status [NR-POD-7]`
	run(t, restrict(aCluster()), []row{
		{name: "it stays", write: updateStatus(claim(), claim())},
		{name: "it does not come", write: updateStatus(samePod, claim()), by: "NR-POD-7", says: says},
		{name: "it does not go", write: updateStatus(claim(), samePod), by: "NR-POD-7", says: says},
		{name: "it keeps its claim",
			write: updateStatus(claim(), claim(func(s *corev1.PodExtendedResourceClaimStatus) { s.ResourceClaimName = "x" })),
			by:    "NR-POD-7", says: says},
		{name: "it keeps its requests",
			write: updateStatus(claim(), claim(func(s *corev1.PodExtendedResourceClaimStatus) { s.RequestMappings = nil })),
			by:    "NR-POD-7", says: says},
		{name: "and their container",
			write: updateStatus(claim(),
				claim(func(s *corev1.PodExtendedResourceClaimStatus) { s.RequestMappings[0].ContainerName = "x" })), by: "NR-POD-7",
			says: says},
	})
}

func TestPodStatusAllocatableClaims(t *testing.T) {
	type status = corev1.NodeAllocatableResourceClaimStatus
	quantity := func(s string) *resource.Quantity { return ptr.To(resource.MustParse(s)) }
	claims := func(edits ...func(*status)) podEdit {
		return func(p *corev1.Pod) {
			s := status{
				ResourceClaimName: "claim", Containers: []string{"c"},
				Mapping: []corev1.NodeAllocatableMappedResources{{Name: "cpu", Quantity: quantity("2")}},
				Overhead: []corev1.NodeAllocatableOverheadResources{{Name: "memory", PerPod: quantity("1Gi"),
					PerContainer: quantity("1Mi")}},
			}
			for _, edit := range edits {
				edit(&s)
			}
			p.Status.NodeAllocatableResourceClaimStatuses = []status{s}
		}
	}
	says := aboutMyPod + `node "me" cannot update node allocatable resource claim statuses [NR-POD-7]`
	rows := []row{
		{name: "they stay", write: updateStatus(claims(), claims())},
		{name: "also written otherwise",
			write: updateStatus(claims(), claims(func(s *status) { s.Mapping[0].Quantity = quantity("2000m") }))},
		{name: "none comes", write: updateStatus(samePod, claims()), by: "NR-POD-7", says: says},
		{name: "none goes", write: updateStatus(claims(), samePod), by: "NR-POD-7", says: says},
	}
	for what, edit := range map[string]func(*status){
		"claim":                  func(s *status) { s.ResourceClaimName = "x" },
		"containers":             func(s *status) { s.Containers = nil },
		"mapping":                func(s *status) { s.Mapping = nil },
		"mapped resource":        func(s *status) { s.Mapping[0].Name = "x" },
		"mapped quantity":        func(s *status) { s.Mapping[0].Quantity = quantity("3") },
		"mapped quantity at all": func(s *status) { s.Mapping[0].Quantity = nil },
		"overhead":               func(s *status) { s.Overhead = nil },
		"overhead's resource":    func(s *status) { s.Overhead[0].Name = "x" },
		"overhead per pod":       func(s *status) { s.Overhead[0].PerPod = quantity("2Gi") },
		"overhead per container": func(s *status) { s.Overhead[0].PerContainer = nil },
	} {
		rows = append(rows, row{name: "they keep their " + what, write: updateStatus(claims(), claims(edit)), by: "NR-POD-7",
			says: says})
	}
	run(t, restrict(aCluster()), rows)
}
