// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// claim returns a claim whose status nodes write.
func (m *Generator) claim() *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: m.meta(harness.Pick(m.RNG, namespaces), harness.Pick(m.RNG, claimNames)),
	}
	claim.Labels, claim.Spec.VolumeName = m.labels(), "pv1"
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim.Status = corev1.PersistentVolumeClaimStatus{
		Phase:    corev1.ClaimBound,
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
	}
	if m.OneIn(4) {
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	}
	if m.OneIn(4) {
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "c2"}
	}
	return claim
}

func (m *Generator) updateClaimStatus(w *Write) {
	w.at("", "v1", "persistentvolumeclaims", "status")
	old := m.claim()
	claim := old.DeepCopy()
	switch m.IntN(4) {
	case 0:
		claim.Status.Capacity = corev1.ResourceList{
			corev1.ResourceStorage: resource.MustParse(harness.Pick(m.RNG, []string{"2Gi", "1024Mi", "1"})),
		}
		claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing}}
	case 1:
		claim.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizeInProgress,
		}
	case 2:
		m.MutateValue(&claim.Status)
	default:
		m.Mutate(claim)
	}
	if m.OneIn(2) {
		claim.ResourceVersion, claim.ManagedFields = "", []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	}
	w.Operation, w.Object, w.Old = admission.Update, claim, old
	w.to(old.Namespace, old.Name)
}

// otherClaim creates writes to claims that nodes do not make.
func (m *Generator) otherClaim(w *Write) {
	w.at("", "v1", "persistentvolumeclaims", harness.Pick(m.RNG, []string{"", "", "status", "x"}))
	claim := m.claim()
	w.Operation, w.Object, w.Old = harness.Pick(
		m.RNG,
		[]admission.Operation{admission.Create, admission.Update, admission.Delete},
	), claim, claim
	w.to(claim.Namespace, claim.Name)
}

func lease(namespace, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name},
	}
}

func (m *Generator) writeLease(w *Write) {
	w.at(coordinationv1.GroupName, "v1", "leases", "")
	namespace := corev1.NamespaceNodeLease
	if m.OneIn(4) {
		namespace = harness.Pick(m.RNG, namespaces)
	}
	l := lease(namespace, m.ofNode(w))
	w.to(namespace, l.Name)
	w.Operation = harness.Pick(m.RNG, []admission.Operation{admission.Create, admission.Update, admission.Delete})
	if w.Operation != admission.Delete {
		w.Object = l
	}
	if w.Operation != admission.Create {
		w.Old = l
	} else if m.OneIn(4) {
		w.Name, l.Name, l.GenerateName = "", "", w.node()
	}
}

// slice returns a slice of one node, of all nodes, or of the nodes that match a selector.
func (m *Generator) slice(w *Write) (version string, slice runtime.Object) {
	name := m.ofNode(w)
	node := &name
	if m.OneIn(6) {
		node = nil
	}
	objectMeta := metav1.ObjectMeta{GenerateName: "slice-"}
	if m.OneIn(2) {
		objectMeta = metav1.ObjectMeta{Name: "slice"}
	}
	switch m.IntN(4) {
	case 0:
		older := &resourcev1beta1.ResourceSlice{ObjectMeta: objectMeta}
		if node != nil {
			older.Spec.NodeName = *node
		}
		return "v1beta1", older
	case 1:
		return "v1beta2", &resourcev1beta2.ResourceSlice{
			ObjectMeta: objectMeta,
			Spec:       resourcev1beta2.ResourceSliceSpec{NodeName: node},
		}
	default:
		return "v1", &resourcev1.ResourceSlice{
			ObjectMeta: objectMeta,
			Spec:       resourcev1.ResourceSliceSpec{NodeName: node},
		}
	}
}

func (m *Generator) writeSlice(w *Write) {
	version, slice := m.slice(w)
	w.at(resourcev1.GroupName, version, "resourceslices", "")
	w.Operation = harness.Pick(
		m.RNG,
		[]admission.Operation{admission.Create, admission.Create, admission.Update, admission.Delete, admission.Delete},
	)
	if w.Operation != admission.Delete {
		w.Object = slice
	}
	if w.Operation != admission.Create {
		w.Old, w.Name = slice, harness.Pick(m.RNG, []string{"slice", "slice", ""})
	}
}

func (m *Generator) writeEvent(w *Write) {
	objectMeta := metav1.ObjectMeta{Namespace: harness.Pick(m.RNG, namespaces), Name: "event"}
	w.at("", "v1", "events", "")
	w.Object = &corev1.Event{
		ObjectMeta:     objectMeta,
		Source:         corev1.EventSource{Host: m.nodeName()},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "a"},
	}
	if m.OneIn(2) {
		w.at(eventsv1.GroupName, "v1", "events", "")
		w.Object = &eventsv1.Event{ObjectMeta: objectMeta, ReportingInstance: m.nodeName()}
	}
	w.Old, w.Operation = w.Object, harness.Pick(
		m.RNG,
		[]admission.Operation{admission.Create, admission.Update, admission.Delete},
	)
	w.to(objectMeta.Namespace, objectMeta.Name)
}

// writeUnrelated creates writes to resources without rules. Some have the name of a resource with
// rules, in another API group.
func (m *Generator) writeUnrelated(w *Write) {
	objectMeta := metav1.ObjectMeta{
		Namespace: harness.Pick(m.RNG, namespaces),
		Name:      harness.Pick(m.RNG, []string{"x", "n1"}),
	}
	w.at(
		harness.Pick(m.RNG, []string{"", "apps", "metrics.k8s.io"}),
		"v1",
		harness.Pick(
			m.RNG,
			[]string{
				"secrets",
				"configmaps",
				"endpoints",
				"namespaces",
				"pods/status",
				"Pods",
				"csidrivers",
				"leases",
				"csinodes",
				"resourceslices",
			},
		),
		harness.Pick(m.RNG, []string{"", "", "status", "token"}),
	)
	w.Object = &corev1.Secret{ObjectMeta: objectMeta}
	w.Old, w.Operation = w.Object, harness.Pick(
		m.RNG,
		[]admission.Operation{admission.Create, admission.Update, admission.Delete},
	)
	w.to(objectMeta.Namespace, objectMeta.Name)
}
