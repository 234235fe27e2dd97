// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	claimStatusOnly = rules.Rule{
		ID:          "NR-PVC-1",
		Description: "A node writes only the status of a PersistentVolumeClaim, and only by updates.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go Admit, admitPVCStatus",
	}
	claimStatusFields = rules.Rule{
		ID: "NR-PVC-2",
		Description: "When a node updates the status of a PersistentVolumeClaim, it changes only the capacity, " +
			"the conditions and, while RecoverVolumeExpansionFailure is on, the resources that an expansion was " +
			"allocated. It changes no label, annotation, owner, finalizer or other field.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitPVCStatus",
	}
)

var persistentVolumeClaimRules = []rules.Rule{claimStatusOnly, claimStatusFields, claimAllocation}

// reviewPersistentVolumeClaim does not check which pod uses the claim. The authorizer allows a node
// to update only the claims of its pods.
func (r *Restriction) reviewPersistentVolumeClaim(q *request) *rules.Decision {
	if q.GetSubresource() != "status" {
		return q.forbid(claimStatusOnly, "may only update PVC status")
	}
	if q.GetOperation() != admission.Update {
		return q.forbid(claimStatusOnly, fmt.Sprintf("unexpected operation %q", q.GetOperation()))
	}
	old, ok := typed[corev1.PersistentVolumeClaim](q.GetOldObject())
	if !ok {
		return q.unexpected(claimStatusFields, q.GetOldObject())
	}
	claim, ok := typed[corev1.PersistentVolumeClaim](q.GetObject())
	if !ok {
		return q.unexpected(claimStatusFields, q.GetObject())
	}
	expansion := r.config.Features.RecoverVolumeExpansionFailure
	if sameClaim(old, claim, expansion) {
		return r.reviewClaimAllocation(q, old, claim)
	}
	if changed := changedClaimFields(old, claim, expansion); len(changed) > 0 {
		// Upstream prints both objects. Field names keep the message short.
		return q.forbid(claimStatusFields, fmt.Sprintf(
			"node %q is not allowed to update fields other than status.quantity and status.conditions: %s", q.node,
			strings.Join(changed, ", ")))
	}
	return r.reviewClaimAllocation(q, old, claim)
}

// sameClaim reports whether all fields that a node may not change are unchanged. It is fast. It may
// return false where [changedClaimFields] finds no change. It never returns true where that finds
// one.
func sameClaim(old, claim *corev1.PersistentVolumeClaim, expansion bool) bool {
	return sameMetadata(&old.ObjectMeta, &claim.ObjectMeta) &&
		sameClaimSpec(&old.Spec, &claim.Spec) &&
		sameClaimRest(&old.Status, &claim.Status) &&
		(expansion || sameResources(old.Status.AllocatedResources, claim.Status.AllocatedResources) &&
			maps.Equal(old.Status.AllocatedResourceStatuses, claim.Status.AllocatedResourceStatuses))
}

// sameMetadata ignores resourceVersion, which an unconditional update omits, and managedFields,
// which the API server writes.
func sameMetadata(a, b *metav1.ObjectMeta) bool {
	return a.Name == b.Name && a.GenerateName == b.GenerateName && a.Namespace == b.Namespace &&
		a.SelfLink == b.SelfLink && //nolint:staticcheck // a field is a field
		a.UID == b.UID && a.Generation == b.Generation &&
		a.CreationTimestamp.Equal(&b.CreationTimestamp) && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		ptr.Equal(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		slices.EqualFunc(a.OwnerReferences, b.OwnerReferences, sameOwner) && slices.Equal(a.Finalizers, b.Finalizers)
}

func sameClaimSpec(a, b *corev1.PersistentVolumeClaimSpec) bool {
	return slices.Equal(a.AccessModes, b.AccessModes) && a.Selector == nil && b.Selector == nil &&
		sameResources(a.Resources.Requests, b.Resources.Requests) && sameResources(a.Resources.Limits, b.Resources.Limits) &&
		a.VolumeName == b.VolumeName && ptr.Equal(a.StorageClassName, b.StorageClassName) &&
		ptr.Equal(a.VolumeMode, b.VolumeMode) &&
		a.DataSource == nil && b.DataSource == nil && a.DataSourceRef == nil && b.DataSourceRef == nil &&
		ptr.Equal(a.VolumeAttributesClassName, b.VolumeAttributesClassName)
}

func sameClaimRest(a, b *corev1.PersistentVolumeClaimStatus) bool {
	return a.Phase == b.Phase && slices.Equal(a.AccessModes, b.AccessModes) &&
		ptr.Equal(a.CurrentVolumeAttributesClassName, b.CurrentVolumeAttributesClassName) &&
		ptr.Equal(a.ModifyVolumeStatus, b.ModifyVolumeStatus) && a.HealthStatus == nil && b.HealthStatus == nil
}

func sameResources(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Equal(y) })
}

// changedClaimFields returns the fields that changed and that a node may not change.
func changedClaimFields(old, claim *corev1.PersistentVolumeClaim, expansion bool) []string {
	status := []string{"capacity", "conditions"}
	if expansion {
		status = append(status, "allocatedResources", "allocatedResourceStatuses")
	}
	changed := changedFields("metadata.", old.ObjectMeta, claim.ObjectMeta, "resourceVersion", "managedFields")
	changed = append(changed, changedFields("spec.", old.Spec, claim.Spec)...)
	return append(changed, changedFields("status.", old.Status, claim.Status, status...)...)
}

// changedFields returns the JSON names of the fields that differ between two structs of the same
// type. It omits the fields in may.
func changedFields(prefix string, old, now any, may ...string) []string {
	var changed []string
	before, after := reflect.ValueOf(old), reflect.ValueOf(now)
	for i := range before.NumField() {
		name, _, _ := strings.Cut(before.Type().Field(i).Tag.Get("json"), ",")
		if !slices.Contains(may, name) &&
			!apiequality.Semantic.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			changed = append(changed, prefix+name)
		}
	}
	return changed
}

var claimAllocation = rules.Rule{
	ID: "NR-PVC-3",
	Description: "When a node updates the status of a PersistentVolumeClaim, it does not raise " +
		"allocatedResources, which the storage quota of the namespace counts.",
	Source: "Bulkhead: pkg/quota/v1/evaluator/core/persistent_volume_claims.go getStorageUsage; " +
		"only the controller that expands the volume raises them (pkg/volume/util/resize_util.go " +
		"MarkControllerReisizeInProgress)",
	Extension: true,
	Optional:  true,
}

func (r *Restriction) reviewClaimAllocation(q *request, old, claim *corev1.PersistentVolumeClaim) *rules.Decision {
	return r.optional(q, claimAllocation, func() *rules.Decision {
		for name, now := range claim.Status.AllocatedResources {
			if before := old.Status.AllocatedResources[name]; now.Cmp(before) > 0 {
				return q.forbid(claimAllocation, fmt.Sprintf("node %q is not allowed to raise status.allocatedResources", q.node))
			}
		}
		return nil
	})
}
