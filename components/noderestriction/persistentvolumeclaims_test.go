// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const aboutClaim = `persistentvolumeclaims "data" is forbidden: `

type claimEdit = func(*corev1.PersistentVolumeClaim)

// aClaim sets every field of a claim.
func aClaim(edits ...claimEdit) *corev1.PersistentVolumeClaim {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "data", UID: "uid", ResourceVersion: "7", Generation: 1,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
			Labels:            map[string]string{"app": "db"}, Annotations: map[string]string{"a": "b"},
			Finalizers: []string{"kubernetes.io/pvc-protection"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "s",
				Controller: ptr.To(true)}},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: "pv",
			Resources: corev1.VolumeResourceRequirements{Requests: size}, StorageClassName: ptr.To("fast"),
			VolumeMode: ptr.To(corev1.PersistentVolumeFilesystem),
		},
		Status: corev1.PersistentVolumeClaimStatus{
			Phase: corev1.ClaimBound, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: size,
			AllocatedResources: size,
			AllocatedResourceStatuses: map[corev1.ResourceName]corev1.ClaimResourceStatus{
				corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizePending,
			},
			CurrentVolumeAttributesClassName: ptr.To("gold"),
		},
	}
	for _, edit := range edits {
		edit(claim)
	}
	return claim
}

func updateClaim(before, after claimEdit) admission.Attributes {
	return write("me", admission.Update, "persistentvolumeclaims", "status", aClaim(after), aClaim(before))
}

func asBefore(*corev1.PersistentVolumeClaim) {}

func TestPersistentVolumeClaims(t *testing.T) {
	only := aboutClaim + "may only update PVC status [NR-PVC-1]"
	run(t, restrict(aCluster()), []row{
		{name: "update a claim's status: allowed", write: updateClaim(asBefore, asBefore)},
		{name: "update a claim: denied",
			write: write("me", admission.Update, "persistentvolumeclaims", "", aClaim(), aClaim()),
			by:    "NR-PVC-1", says: only},
		{name: "create a claim: denied", write: write("me", admission.Create, "persistentvolumeclaims", "", aClaim(), nil),
			by: "NR-PVC-1", says: only},
		{name: "delete a claim: denied", write: write("me", admission.Delete, "persistentvolumeclaims", "", nil, aClaim()),
			by: "NR-PVC-1", says: only},
		{name: "write another subresource of a claim: denied",
			write: write("me", admission.Update, "persistentvolumeclaims", "scale", aClaim(), aClaim()), by: "NR-PVC-1",
			says: only},
		{name: "create a claim's status: denied",
			write: write("me", admission.Create, "persistentvolumeclaims", "status", aClaim(), nil), by: "NR-PVC-1",
			says: aboutClaim + `unexpected operation "CREATE" [NR-PVC-1]`},
		{name: "delete a claim's status: denied",
			write: write("me", admission.Delete, "persistentvolumeclaims", "status", nil, aClaim()), by: "NR-PVC-1",
			says: aboutClaim + `unexpected operation "DELETE" [NR-PVC-1]`},
		{name: "update a claim's status without an old object: denied",
			write: write("me", admission.Update, "persistentvolumeclaims", "status", aClaim(), nil),
			by:    "NR-PVC-2", says: aboutClaim + "unexpected type <nil> [NR-PVC-2]"},
		{name: "update a claim's status without a new object: denied",
			write: write("me", admission.Update, "persistentvolumeclaims", "status", nil, aClaim()),
			by:    "NR-PVC-2", says: aboutClaim + "unexpected type <nil> [NR-PVC-2]"},
		{name: "update a claim's status with an object of another type: denied",
			write: write("me", admission.Update, "persistentvolumeclaims", "status", aNode("data"), aClaim()), by: "NR-PVC-2",
			says: aboutClaim + "unexpected type *v1.Node [NR-PVC-2]"},
	})
}

// mayChange are the fields of a claim that a node may change with its status.
var mayChange = map[string]claimEdit{
	"capacity": func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = nil },
	"conditions": func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "x"}}
	},
	"the resource version": func(c *corev1.PersistentVolumeClaim) { c.ResourceVersion = "" },
	"the managed fields": func(c *corev1.PersistentVolumeClaim) {
		c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	},
	"how a size is written": func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1024Mi")}
	},
	"where a clock stands": func(c *corev1.PersistentVolumeClaim) {
		c.CreationTimestamp.Time = c.CreationTimestamp.In(time.FixedZone("", 3600))
	},
	"an empty list for no list": func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Limits = corev1.ResourceList{} },
}

// mayExpand are the fields that a node may change only if RecoverVolumeExpansionFailure is on.
var mayExpand = map[string]claimEdit{
	"status.allocatedResources":        func(c *corev1.PersistentVolumeClaim) { c.Status.AllocatedResources = nil },
	"status.allocatedResourceStatuses": func(c *corev1.PersistentVolumeClaim) { c.Status.AllocatedResourceStatuses = nil },
}

// mayNotChange are all other fields, by the name in the message.
var mayNotChange = map[string]claimEdit{
	"metadata.name":         func(c *corev1.PersistentVolumeClaim) { c.Name = "x" },
	"metadata.generateName": func(c *corev1.PersistentVolumeClaim) { c.GenerateName = "x" },
	"metadata.namespace":    func(c *corev1.PersistentVolumeClaim) { c.Namespace = "x" },
	"metadata.selfLink": func(c *corev1.PersistentVolumeClaim) {
		c.SelfLink = "x" //nolint:staticcheck // a field is a field
	},
	"metadata.uid":        func(c *corev1.PersistentVolumeClaim) { c.UID = "x" },
	"metadata.generation": func(c *corev1.PersistentVolumeClaim) { c.Generation = 2 },
	"metadata.creationTimestamp": func(c *corev1.PersistentVolumeClaim) {
		c.CreationTimestamp = metav1.Time{}
	},
	"metadata.deletionTimestamp": func(c *corev1.PersistentVolumeClaim) {
		c.DeletionTimestamp = &metav1.Time{}
	},
	"metadata.deletionGracePeriodSeconds": func(c *corev1.PersistentVolumeClaim) {
		c.DeletionGracePeriodSeconds = new(int64)
	},
	"metadata.labels":      func(c *corev1.PersistentVolumeClaim) { c.Labels["app"] = "x" },
	"metadata.annotations": func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil },
	"metadata.ownerReferences": func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences[0].Controller = nil
	},
	"metadata.finalizers": func(c *corev1.PersistentVolumeClaim) { c.Finalizers = nil },
	"spec.accessModes":    func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes = nil },
	"spec.selector": func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{}
	},
	"spec.resources": func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	},
	"spec.volumeName":       func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "x" },
	"spec.storageClassName": func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil },
	"spec.volumeMode":       func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = nil },
	"spec.dataSource": func(c *corev1.PersistentVolumeClaim) {
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{}
	},
	"spec.dataSourceRef": func(c *corev1.PersistentVolumeClaim) {
		c.Spec.DataSourceRef = &corev1.TypedObjectReference{}
	},
	"spec.volumeAttributesClassName": func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeAttributesClassName = ptr.To("x")
	},
	"status.phase":       func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost },
	"status.accessModes": func(c *corev1.PersistentVolumeClaim) { c.Status.AccessModes = nil },
	"status.currentVolumeAttributesClassName": func(c *corev1.PersistentVolumeClaim) {
		c.Status.CurrentVolumeAttributesClassName = nil
	},
	"status.modifyVolumeStatus": func(c *corev1.PersistentVolumeClaim) {
		c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{}
	},
	"status.healthStatus": func(c *corev1.PersistentVolumeClaim) { c.Status.HealthStatus = &corev1.VolumeHealthStatus{} },
}

func TestPersistentVolumeClaimStatus(t *testing.T) {
	says := func(fields string) string {
		return aboutClaim + `node "me" is not allowed to update fields other than status.quantity and status.conditions: ` +
			fields + " [NR-PVC-2]"
	}
	var on, off []row
	for field, edit := range mayChange {
		on = append(on, row{name: "may change " + field, write: updateClaim(asBefore, edit)})
	}
	for field, edit := range mayExpand {
		on = append(on, row{name: "may change " + field, write: updateClaim(asBefore, edit)})
		off = append(off, row{name: "may not change " + field, write: updateClaim(asBefore, edit), by: "NR-PVC-2",
			says: says(field)})
	}
	for field, edit := range mayNotChange {
		set := row{name: "may not change " + field, write: updateClaim(asBefore, edit), by: "NR-PVC-2", says: says(field)}
		reset := row{name: "may not change back " + field, write: updateClaim(edit, asBefore), by: "NR-PVC-2",
			says: says(field)}
		if field == "metadata.name" || field == "metadata.namespace" {
			set.write = write("me", admission.Update, "persistentvolumeclaims", "status", aClaim(edit), aClaim(), named("data"),
				in("default"))
			reset.write = write("me", admission.Update, "persistentvolumeclaims", "status", aClaim(), aClaim(edit),
				named("data"), in("default"))
		}
		on = append(on, set, reset,
			row{name: "may keep " + field,
				write: write("me", admission.Update, "persistentvolumeclaims", "status", aClaim(edit), aClaim(edit))})
	}
	on = append(on, row{name: "all changed fields are reported", by: "NR-PVC-2",
		says: says("metadata.labels, spec.volumeName, status.phase"),
		write: updateClaim(asBefore, func(c *corev1.PersistentVolumeClaim) {
			mayNotChange["status.phase"](c)
			mayNotChange["metadata.labels"](c)
			mayNotChange["spec.volumeName"](c)
			mayChange["capacity"](c)
		})})
	off = append(off, row{name: "change capacity: allowed", write: updateClaim(asBefore, mayChange["capacity"])})
	run(t, restrict(aCluster()), on)
	run(t, restrict(aCluster(), func(c *Config) { c.Features.RecoverVolumeExpansionFailure = false }), off)
}

// TestEveryFieldOfAClaimIsDecided fails if Kubernetes adds a field to claims and these lists do not
// have it yet.
func TestEveryFieldOfAClaimIsDecided(t *testing.T) {
	may := []string{"metadata.resourceVersion", "metadata.managedFields", "status.capacity", "status.conditions",
		"status.allocatedResources", "status.allocatedResourceStatuses"}
	var names []string
	for prefix, fields := range map[string]reflect.Type{
		"metadata.": reflect.TypeFor[metav1.ObjectMeta](),
		"spec.":     reflect.TypeFor[corev1.PersistentVolumeClaimSpec](),
		"status.":   reflect.TypeFor[corev1.PersistentVolumeClaimStatus](),
	} {
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
			names = append(names, prefix+name)
		}
	}
	decided := slices.Sorted(slices.Values(append(may, slices.Collect(maps.Keys(mayNotChange))...)))
	slices.Sort(names)
	if diff := cmp.Diff(decided, names); diff != "" {
		t.Errorf("fields (-decided +there are):\n%s", diff)
	}
}

func TestClaimAllocation(t *testing.T) {
	allocated := func(size string) claimEdit {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		}
	}
	const says = aboutClaim + `node "me" is not allowed to raise status.allocatedResources [NR-PVC-3]`
	run(t, restrict(aCluster(), enforce("NR-PVC-3")), []row{
		{name: "allocatedResources as they were: admitted", write: updateClaim(allocated("2Gi"), allocated("2Gi"))},
		{name: "allocatedResources lowered: admitted", write: updateClaim(allocated("2Gi"), allocated("1Gi"))},
		{name: "allocatedResources raised: denied", write: updateClaim(allocated("1Gi"), allocated("2Gi")), by: "NR-PVC-3",
			says: says},
		{name: "allocatedResources set first: denied",
			write: updateClaim(func(c *corev1.PersistentVolumeClaim) { c.Status.AllocatedResources = nil }, allocated("1")),
			by:    "NR-PVC-3", says: says},
	})
	run(t, restrict(aCluster()),
		[]row{{name: "rule off, allocatedResources raised: admitted",
			write: updateClaim(allocated("1Gi"), allocated("2Gi"))}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-PVC-3")), updateClaim(allocated("1Gi"), allocated("2Gi")),
		"NR-PVC-3")
}
