// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	volumesAttached = rules.Rule{
		ID:          "NR-VOLUME-1",
		Description: "A node does not set or change status.volumesAttached of its Node.",
		Source: "Bulkhead; pkg/controller/volume/attachdetach/attach_detach_controller.go " +
			"populateActualStateOfWorld: kube-controller-manager takes from this list what is attached where " +
			"when it starts. A kubelet only reads it",
		Extension: true,
		Optional:  true,
	}
	volumesInUse = rules.Rule{
		ID: "NR-VOLUME-2",
		Description: "A node adds to status.volumesInUse of its Node only volumes that status.volumesAttached lists, " +
			"and volumes of pods that are bound to the node.",
		Source: "Bulkhead; pkg/kubelet/volumemanager/volume_manager.go GetVolumesInUse; a volume in use is not detached: " +
			"pkg/volume/util/operationexecutor/operation_generator.go verifyVolumeIsSafeToDetach",
		Extension: true,
		Optional:  true,
	}
)

// reviewNodeVolumes checks the two lists that the attach-detach controller reads. old is nil if the
// Node is created.
func (r *Restriction) reviewNodeVolumes(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if old == nil {
		old = noNode
	}
	if !slices.Equal(old.Status.VolumesAttached, node.Status.VolumesAttached) {
		if refused := r.optional(q, volumesAttached, func() *rules.Decision {
			return q.forbid(volumesAttached,
				fmt.Sprintf("node %q is not allowed to modify status.volumesAttached", q.node))
		}); refused != nil {
			return refused
		}
	}
	if slices.Equal(old.Status.VolumesInUse, node.Status.VolumesInUse) {
		return nil
	}
	return r.optional(q, volumesInUse, func() *rules.Decision { return r.checkVolumesInUse(ctx, q, old, node) })
}

// checkVolumesInUse looks up the pods of the node only if the old Node does not list every volume.
// A kubelet reports a volume as soon as a pod needs it, before it is attached. It reports the
// volume until it is unmounted, after the pod is deleted.
func (r *Restriction) checkVolumesInUse(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	unexplained := addedVolumes(old, node)
	if len(unexplained) == 0 {
		return nil
	}
	if err := r.explainByPods(ctx, q.node, unexplained); err != nil {
		return q.raw(volumesInUse, err)
	}
	if len(unexplained) == 0 {
		return nil
	}
	names := make([]string, 0, len(unexplained))
	for name := range unexplained {
		names = append(names, fmt.Sprintf("%.253q", string(name)))
	}
	return q.forbid(volumesInUse, fmt.Sprintf("node %q is not allowed to report volumes in use "+
		"that are not attached to it and that none of its pods has: %s", q.node, someOf(names)))
}

// addedVolumes returns the names in use that were neither in use nor attached before.
func addedVolumes(old, node *corev1.Node) map[corev1.UniqueVolumeName]bool {
	added := make(map[corev1.UniqueVolumeName]bool, len(node.Status.VolumesInUse))
	for _, name := range node.Status.VolumesInUse {
		added[name] = true
	}
	for _, name := range old.Status.VolumesInUse {
		delete(added, name)
	}
	for _, volume := range old.Status.VolumesAttached {
		delete(added, volume.Name)
	}
	return added
}

// persistentVolumeName returns the name that kubelets and the attach-detach controller give to a
// PersistentVolume. It returns "" if volumes of its kind are not attached. Source:
// pkg/volume/util/util.go GetUniqueVolumeNameFromSpec, GetVolumeName of the plugins.
func persistentVolumeName(volume *corev1.PersistentVolume) corev1.UniqueVolumeName {
	switch source := &volume.Spec.PersistentVolumeSource; {
	case source.CSI != nil:
		return csiVolumeName(source.CSI)
	case source.ISCSI != nil:
		return iscsiVolumeName(source.ISCSI.TargetPortal, source.ISCSI.IQN, source.ISCSI.Lun)
	case source.FC != nil:
		return fcVolumeName(source.FC)
	case source.FlexVolume != nil:
		return uniqueName(source.FlexVolume.Driver, volume.Name)
	}
	inTree := csitranslation.New()
	if !inTree.IsPVMigratable(volume) {
		return ""
	}
	return translatedName(inTree.TranslateInTreePVToCSI(logr.Discard(), volume))
}

// inlineVolumeName returns the same name for a volume that is defined in the pod spec. Such volumes
// of CSI drivers are not attached.
func inlineVolumeName(volume *corev1.Volume, namespace string) corev1.UniqueVolumeName {
	switch {
	case volume.ISCSI != nil:
		return iscsiVolumeName(volume.ISCSI.TargetPortal, volume.ISCSI.IQN, volume.ISCSI.Lun)
	case volume.FC != nil:
		return fcVolumeName(volume.FC)
	case volume.FlexVolume != nil:
		return uniqueName(volume.FlexVolume.Driver, volume.Name)
	}
	inTree := csitranslation.New()
	if !inTree.IsInlineMigratable(volume) {
		return ""
	}
	return translatedName(inTree.TranslateInTreeInlineVolumeToCSI(logr.Discard(), volume, namespace))
}

func translatedName(volume *corev1.PersistentVolume, err error) corev1.UniqueVolumeName {
	if err != nil || volume == nil || volume.Spec.CSI == nil {
		return ""
	}
	return csiVolumeName(volume.Spec.CSI)
}

func csiVolumeName(source *corev1.CSIPersistentVolumeSource) corev1.UniqueVolumeName {
	return uniqueName("kubernetes.io/csi", source.Driver+"^"+source.VolumeHandle)
}

func iscsiVolumeName(portal, iqn string, lun int32) corev1.UniqueVolumeName {
	return uniqueName("kubernetes.io/iscsi", fmt.Sprintf("%v:%v:%v", portal, iqn, lun))
}

func fcVolumeName(source *corev1.FCVolumeSource) corev1.UniqueVolumeName {
	switch {
	case len(source.TargetWWNs) != 0 && source.Lun != nil:
		return uniqueName("kubernetes.io/fc", fmt.Sprintf("%v:%v", source.TargetWWNs, *source.Lun))
	case len(source.WWIDs) != 0:
		return uniqueName("kubernetes.io/fc", fmt.Sprintf("%v", source.WWIDs))
	}
	return ""
}

func uniqueName(plugin, volume string) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName(plugin + "/" + volume)
}
