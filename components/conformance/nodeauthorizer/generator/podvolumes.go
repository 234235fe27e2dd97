// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// volumeWays are the volume sources of pods that name an object, and two that do not. Each uses a
// new volume, but some projections share one.
var volumeWays = []way{
	volumeWay("secret", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.Secret = &corev1.SecretVolumeSource{SecretName: name}
	}),
	volumeWay("configMap", graph.ConfigMap, func(s *corev1.VolumeSource, name string) {
		s.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: *local(name)}
	}),
	volumeWay("persistentVolumeClaim", graph.PersistentVolumeClaim, func(s *corev1.VolumeSource, name string) {
		s.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
	}),
	volumeWay("azureFile", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.AzureFile = &corev1.AzureFileVolumeSource{SecretName: name}
	}),
	volumeWay("cephfs", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.CephFS = &corev1.CephFSVolumeSource{SecretRef: local(name)}
	}),
	volumeWay("cinder", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.Cinder = &corev1.CinderVolumeSource{SecretRef: local(name)}
	}),
	volumeWay("flexVolume", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.FlexVolume = &corev1.FlexVolumeSource{SecretRef: local(name)}
	}),
	volumeWay("rbd", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.RBD = &corev1.RBDVolumeSource{SecretRef: local(name)}
	}),
	volumeWay("scaleIO", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.ScaleIO = &corev1.ScaleIOVolumeSource{SecretRef: local(name)}
	}),
	volumeWay("iscsi", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.ISCSI = &corev1.ISCSIVolumeSource{SecretRef: local(name)}
	}),
	volumeWay("storageos", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.StorageOS = &corev1.StorageOSVolumeSource{SecretRef: local(name)}
	}),
	volumeWay("csi", graph.Secret, func(s *corev1.VolumeSource, name string) {
		s.CSI = &corev1.CSIVolumeSource{Driver: "driver", NodePublishSecretRef: local(name)}
	}),
	{
		via:   "volumes.ephemeral",
		kind:  graph.PersistentVolumeClaim,
		ofPod: true,
		add: func(pod *corev1.Pod, _ int, name string) {
			pod.Spec.Volumes = append(
				pod.Spec.Volumes,
				corev1.Volume{
					Name:         name,
					VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}},
				},
			)
		},
	},
	{via: "volumes.glusterfs", namesNothing: true, add: addVolume(func(s *corev1.VolumeSource, name string) {
		s.Glusterfs = &corev1.GlusterfsVolumeSource{EndpointsName: name}
	})},
	projectedWay("secret", graph.Secret, func(p *corev1.VolumeProjection, name string) {
		p.Secret = &corev1.SecretProjection{LocalObjectReference: *local(name)}
	}),
	projectedWay("configMap", graph.ConfigMap, func(p *corev1.VolumeProjection, name string) {
		p.ConfigMap = &corev1.ConfigMapProjection{LocalObjectReference: *local(name)}
	}),
	{
		via:          "volumes.projected.serviceAccountToken",
		namesNothing: true,
		add: addProjection(func(p *corev1.VolumeProjection, name string) {
			p.ServiceAccountToken = &corev1.ServiceAccountTokenProjection{Audience: name}
		}),
	},
}

func volumeWay(source string, kind graph.Kind, set func(*corev1.VolumeSource, string)) way {
	return way{via: "volumes." + source, kind: kind, add: addVolume(set)}
}

func projectedWay(source string, kind graph.Kind, set func(*corev1.VolumeProjection, string)) way {
	return way{via: "volumes.projected." + source, kind: kind, add: addProjection(set)}
}

func addVolume(set func(*corev1.VolumeSource, string)) func(*corev1.Pod, int, string) {
	return func(pod *corev1.Pod, number int, name string) {
		volume := corev1.Volume{Name: numbered(number)}
		set(&volume.VolumeSource, name)
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

func addProjection(set func(*corev1.VolumeProjection, string)) func(*corev1.Pod, int, string) {
	return func(pod *corev1.Pod, number int, name string) {
		last := len(pod.Spec.Volumes) - 1
		if last < 0 || pod.Spec.Volumes[last].Projected == nil || number%3 == 0 {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
				Name: numbered(number), VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}},
			})
			last++
		}
		var projection corev1.VolumeProjection
		set(&projection, name)
		projected := pod.Spec.Volumes[last].Projected
		projected.Sources = append(projected.Sources, projection)
	}
}

func local(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }
