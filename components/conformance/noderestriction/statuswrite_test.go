// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
)

// newEdits returns the seeds of a few edits. The first edit decides between a pod and a Node.
func newEdits(g harness.RNG) []uint64 {
	edits := make([]uint64, 1+g.IntN(5))
	for i := range edits {
		edits[i] = uint64(g.IntN(1 << 30))
	}
	return edits
}

// statusWrite returns the update of a status by a node. Without edits it is an ordinary one, of a
// pod.
func statusWrite(edits []uint64) *generator.Write {
	w := &generator.Write{
		User:      &user.DefaultInfo{Name: "system:node:n1", Groups: []string{user.NodesGroup, user.AllAuthenticated}},
		Operation: admission.Update, Subresource: "status",
		Resource:  schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: "ns1", Name: "a",
	}
	w.Old = ordinaryPod()
	if len(edits) > 0 && edits[0]%2 == 1 {
		w.Resource.Resource, w.Namespace, w.Name, w.Old = "nodes", "", "n1", ordinaryNode()
	}
	w.Object = w.Old.DeepCopyObject()
	for _, seed := range edits {
		edit(w, &generator.Generator{RNG: harness.Seeded(seed)})
	}
	return w
}

// edit changes one thing: of both objects, of the new one, or of the request.
func edit(w *generator.Write, g *generator.Generator) {
	both := func(change func(runtime.Object, *generator.Generator)) {
		seed := uint64(g.IntN(1 << 20))
		change(w.Old, &generator.Generator{RNG: harness.Seeded(seed)})
		change(w.Object, &generator.Generator{RNG: harness.Seeded(seed)})
	}
	switch g.IntN(13) {
	case 0:
		both(mutateStatus)
	case 1:
		both(func(o runtime.Object, g *generator.Generator) { g.Mutate(o) })
	case 12:
		both(report)
	case 2, 3:
		g.Mutate(w.Object)
	case 4, 5:
		mutateStatus(w.Object, g)
	case 6:
		mutateMetadata(w.Object, g)
	case 7:
		address(w, g)
	case 8:
		grow(w.Object, g)
	default:
		report(w.Object, g)
	}
}

func mutateStatus(o runtime.Object, g *generator.Generator) {
	switch o := o.(type) {
	case *corev1.Pod:
		g.MutateValue(&o.Status)
	case *corev1.Node:
		g.MutateValue(&o.Status)
	}
}

func mutateMetadata(o runtime.Object, g *generator.Generator) {
	switch o := o.(type) {
	case *corev1.Pod:
		g.MutateValue(&o.ObjectMeta)
	case *corev1.Node:
		g.MutateValue(&o.ObjectMeta)
	}
}

// report changes what a kubelet reports all the time.
func report(o runtime.Object, g *generator.Generator) {
	now := metav1.NewTime(time.Unix(int64(1_700_000_000+g.IntN(1_000_000)), 0).UTC())
	switch o := o.(type) {
	case *corev1.Pod:
		switch g.IntN(4) {
		case 0:
			g.MutateValue(&o.Status.ContainerStatuses)
		case 1:
			g.MutateValue(&o.Status.Conditions)
		case 2:
			o.Status.Phase = harness.Pick(g.RNG, []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed})
		default:
			o.Status.StartTime = &now
		}
	case *corev1.Node:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastHeartbeatTime = now
		}
		for i := range o.ManagedFields {
			o.ManagedFields[i].Time = &now
		}
	}
}

// address changes the request, but not its objects.
func address(w *generator.Write, g *generator.Generator) {
	switch g.IntN(6) {
	case 0:
		w.User = &user.DefaultInfo{Name: harness.Pick(g.RNG, []string{"system:node:n2", "system:node:", "n1"}),
			Groups: []string{user.NodesGroup}}
	case 1:
		w.Name = harness.Pick(g.RNG, []string{"", "n2", "b"})
	case 2:
		w.Subresource = harness.Pick(g.RNG, []string{"", "eviction", "resize", "x"})
	case 3:
		w.Operation = harness.Pick(g.RNG, []admission.Operation{admission.Create, admission.Delete})
	case 4:
		w.Resource.Group = "apps"
	default:
		w.Resource.Resource = harness.Pick(g.RNG, []string{"pods", "nodes", "events"})
	}
}

// grow writes a long text, of characters that need little or much space.
func grow(o runtime.Object, g *generator.Generator) {
	text := strings.Repeat(harness.Pick(g.RNG, []string{"a", "<", "\u0001", "é", "\U0001F600"}), 1<<g.IntN(20))
	raw := fmt.Appendf(nil, `{"f:status":{"f:%s":{}}}`,
		strings.Repeat(harness.Pick(g.RNG, []string{"a", `\u003c`, `\ud83d\ude00`}), 1<<g.IntN(17)))
	switch o := o.(type) {
	case *corev1.Pod:
		o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: "long", Message: text})
	case *corev1.Node:
		if len(o.ManagedFields) > 0 && g.OneIn(2) {
			o.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(string(raw))
		} else {
			o.Status.Conditions = append(o.Status.Conditions, corev1.NodeCondition{Type: "long", Message: text})
		}
	}
}

func ordinaryPod() *corev1.Pod {
	yes, claim := true, "c"
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns1", Name: "a", UID: "a-1", Labels: map[string]string{"app": "a"},
			Annotations:     map[string]string{"x": "y"},
			Finalizers:      []string{"example.com/x"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", Controller: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "a", Image: "i"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, HostIP: "192.0.2.1",
			HostIPs:                              []corev1.HostIP{{IP: "192.0.2.1"}},
			Conditions:                           []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses:                    []corev1.ContainerStatus{{Name: "a", Image: "i", Ready: true}},
			ResourceClaimStatuses:                []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: &claim}},
			ExtendedResourceClaimStatus:          &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim},
			NodeAllocatableResourceClaimStatuses: []corev1.NodeAllocatableResourceClaimStatus{{ResourceClaimName: claim}},
		},
	}
}

func ordinaryNode() *corev1.Node {
	now := metav1.NewTime(time.Unix(1_700_000_000, 0).UTC())
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "n1", UID: "n1-1", Labels: map[string]string{corev1.LabelHostname: "n1"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: &now,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`)}},
		},
		Spec: corev1.NodeSpec{PodCIDR: "10.0.0.0/24", ProviderID: "kind://n1"},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, LastHeartbeatTime: now},
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now},
			},
			VolumesInUse:    []corev1.UniqueVolumeName{"v"},
			VolumesAttached: []corev1.AttachedVolume{{Name: "v"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo:        corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"},
		},
	}
}

func describeStatus(w *generator.Write) string {
	return fmt.Sprintf("%s %s/%s named %q by %v\n%s", w.Operation, w.Resource, w.Subresource, w.Name, w.User,
		cmp.Diff(w.Old, w.Object))
}
