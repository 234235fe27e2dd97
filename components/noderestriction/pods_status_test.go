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

// updateStatus returns a status update of the pod mine, from one edit to another.
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
		{name: "update own pod's status: allowed", write: updateStatus(samePod, func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1",
				ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}}}
		})},
		{name: "update other node's pod status: denied",
			write: write("me", admission.Update, "pods", "status", theirs, theirs), by: "NR-POD-6",
			says: `pods "theirs" is forbidden: ` + bound},
		{name: "update an unbound pod's status: denied",
			write: write("me", admission.Update, "pods", "status", pending, pending), by: "NR-POD-6",
			says: `pods "pending" is forbidden: ` + bound},
		{name: "update a pod's status that binds it to the node: denied",
			write: write("me", admission.Update, "pods", "status", mine, taken),
			by:    "NR-POD-6", says: aboutMyPod + bound},
		{name: "create a pod's status: denied",
			write: write("me", admission.Create, "pods", "status", mine, nil), by: "NR-POD-6",
			says: aboutMyPod + `unexpected operation "CREATE" [NR-POD-6]`},
		{name: "delete a pod's status: denied",
			write: write("me", admission.Delete, "pods", "status", nil, mine), by: "NR-POD-6",
			says: aboutMyPod + `unexpected operation "DELETE" [NR-POD-6]`},
		{name: "update a pod's status without an old object: denied",
			write: write("me", admission.Update, "pods", "status", mine, nil), by: "NR-POD-6",
			says: aboutMyPod + "unexpected type <nil> [NR-POD-6]"},
		{name: "update a pod's status without a new object: denied",
			write: write("me", admission.Update, "pods", "status", nil, mine),
			by:    "NR-POD-6", says: aboutMyPod + "unexpected type <nil> [NR-POD-6]"},
		{name: "update a pod's status with an object of another type: denied",
			write: write("me", admission.Update, "pods", "status", aNode("me"), mine, named("mine")),
			by:    "NR-POD-6", says: aboutMyPod + "unexpected type *v1.Node [NR-POD-6]"},
	})
}

func TestPodStatusLabels(t *testing.T) {
	set := func(labels map[string]string) podEdit { return func(p *corev1.Pod) { p.Labels = labels } }
	says := aboutMyPod + `node "me" cannot update labels through pod status [NR-POD-7]`
	run(t, restrict(aCluster()), []row{
		{name: "same labels: allowed",
			write: updateStatus(set(map[string]string{"a": "1"}), set(map[string]string{"a": "1"}))},
		{name: "empty label map replaces no map: allowed", write: updateStatus(set(map[string]string{}), set(nil))},
		{name: "add a label: denied",
			write: updateStatus(set(nil), set(map[string]string{"a": "1"})), by: "NR-POD-7", says: says},
		{name: "replace a label with an empty value: denied",
			write: updateStatus(set(map[string]string{"b": ""}), set(map[string]string{"a": ""})),
			by:    "NR-POD-7", says: says},
		{name: "remove a label: denied",
			write: updateStatus(set(map[string]string{"a": "1"}), set(nil)), by: "NR-POD-7", says: says},
		{name: "change a label: denied",
			write: updateStatus(set(map[string]string{"a": "1"}), set(map[string]string{"a": "2"})),
			by:    "NR-POD-7", says: says},
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
		{name: "same claims: allowed", write: updateStatus(claims(one, two),
			claims(corev1.PodResourceClaimStatus{Name: "gpu", ResourceClaimName: ptr.To("claim")}, two))},
		{name: "empty claim list replaces no list: allowed",
			write: updateStatus(claims([]corev1.PodResourceClaimStatus{}...), claims())},
		{name: "add a claim: denied", write: updateStatus(claims(), claims(one)), by: "NR-POD-7", says: says},
		{name: "remove a claim: denied", write: updateStatus(claims(one), claims()), by: "NR-POD-7", says: says},
		{name: "reorder claims: denied", write: updateStatus(claims(one, two), claims(two, one)), by: "NR-POD-7", says: says},
		{name: "rename a claim: denied", write: updateStatus(claims(two), claims(corev1.PodResourceClaimStatus{Name: "x"})),
			by: "NR-POD-7", says: says},
		{name: "change a claim's object: denied",
			write: updateStatus(claims(one), claims(corev1.PodResourceClaimStatus{Name: "gpu", ResourceClaimName: ptr.To("x")})),
			by:    "NR-POD-7", says: says},
		{name: "remove a claim's object: denied",
			write: updateStatus(claims(one), claims(corev1.PodResourceClaimStatus{Name: "gpu"})),
			by:    "NR-POD-7", says: says},
		{name: "add a claim's object: denied",
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
		{name: "same extended claim: allowed", write: updateStatus(claim(), claim())},
		{name: "add the extended claim: denied", write: updateStatus(samePod, claim()), by: "NR-POD-7", says: says},
		{name: "remove the extended claim: denied", write: updateStatus(claim(), samePod), by: "NR-POD-7", says: says},
		{name: "change the extended claim's name: denied",
			write: updateStatus(claim(), claim(func(s *corev1.PodExtendedResourceClaimStatus) { s.ResourceClaimName = "x" })),
			by:    "NR-POD-7", says: says},
		{name: "change the extended claim's requests: denied",
			write: updateStatus(claim(), claim(func(s *corev1.PodExtendedResourceClaimStatus) { s.RequestMappings = nil })),
			by:    "NR-POD-7", says: says},
		{name: "change the extended claim's container: denied",
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
		{name: "same allocatable claims: allowed", write: updateStatus(claims(), claims())},
		{name: "same allocatable claims, other notation: allowed",
			write: updateStatus(claims(), claims(func(s *status) { s.Mapping[0].Quantity = quantity("2000m") }))},
		{name: "add an allocatable claim: denied", write: updateStatus(samePod, claims()), by: "NR-POD-7", says: says},
		{name: "remove an allocatable claim: denied", write: updateStatus(claims(), samePod), by: "NR-POD-7", says: says},
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
