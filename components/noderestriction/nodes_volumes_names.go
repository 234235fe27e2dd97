// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
)

// persistentVolumeName is the name that kubelets and the attach-detach controller give to
// a PersistentVolume; empty if volumes of its kind are not attached.
// Source: pkg/volume/util/util.go GetUniqueVolumeNameFromSpec, GetVolumeName of the plugins.
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

// inlineVolumeName is the same for a volume that a pod describes itself. Volumes of CSI
// drivers that do so are not attached.
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
