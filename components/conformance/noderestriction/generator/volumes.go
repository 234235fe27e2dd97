// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// volumes are of any kind.
func (m *Maker) volumes(most int) []corev1.Volume {
	var volumes []corev1.Volume
	for i := range m.IntN(most + 1) {
		volumes = append(volumes, corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: m.volumeSource()})
	}
	return volumes
}

// unlawful is a volume of up to two kinds, which no API server stores: so no pod of
// the world has one.
func (m *Maker) unlawful() corev1.Volume {
	source := m.volumeSource()
	merge(&source, m.volumeSource())
	return corev1.Volume{Name: "unlawful", VolumeSource: source}
}

// merge adds what the other source has.
func merge(source *corev1.VolumeSource, other corev1.VolumeSource) {
	into, from := reflect.ValueOf(source).Elem(), reflect.ValueOf(other)
	for i := range from.NumField() {
		if !from.Field(i).IsNil() {
			into.Field(i).Set(from.Field(i))
		}
	}
}

func (m *Maker) volumeSource() corev1.VolumeSource {
	if m.OneIn(3) {
		return m.usualSource()
	}
	return m.anySource()
}

// usualSource is one that leads to an audience or a signer.
func (m *Maker) usualSource() corev1.VolumeSource {
	switch m.IntN(4) {
	case 0:
		return corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: m.driverName(), NodePublishSecretRef: m.reference()}}
	case 1:
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pick(m.Dice, claimNames)}}
	case 2:
		source := &corev1.EphemeralVolumeSource{}
		if !m.OneIn(5) {
			source.VolumeClaimTemplate = &corev1.PersistentVolumeClaimTemplate{}
		}
		return corev1.VolumeSource{Ephemeral: source}
	default:
		return corev1.VolumeSource{Projected: m.projected()}
	}
}

func (m *Maker) projected() *corev1.ProjectedVolumeSource {
	projected := &corev1.ProjectedVolumeSource{}
	for range m.IntN(4) {
		source := m.projection()
		if m.OneIn(30) {
			source.DownwardAPI = &corev1.DownwardAPIProjection{}
		}
		projected.Sources = append(projected.Sources, source)
	}
	return projected
}

func (m *Maker) projection() corev1.VolumeProjection {
	switch m.IntN(9) {
	case 0:
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: m.local()}}
	case 1:
		return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: m.local()}}
	case 2:
		return corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "p"}}
	case 3, 4:
		return corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{SignerName: pick(m.Dice, signers)}}
	case 5, 6:
		return corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: m.audience(), Path: "token"}}
	case 7:
		return corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}
	default:
		return corev1.VolumeProjection{}
	}
}

// reference is none, one without a name, or one.
func (m *Maker) reference() *corev1.LocalObjectReference {
	if m.OneIn(2) {
		return nil
	}
	local := m.local()
	return &local
}

func (m *Maker) local() corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: pick(m.Dice, []string{"x", ""})}
}

// harmlessSource needs no object of the API.
func (m *Maker) harmlessSource() corev1.VolumeSource {
	switch m.IntN(4) {
	case 0:
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	case 1:
		return corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}
	case 2:
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{}}}}}
	default:
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}
	}
}

// anySource is of each kind that there is, or of none.
func (m *Maker) anySource() corev1.VolumeSource {
	var source corev1.VolumeSource
	value := reflect.ValueOf(&source).Elem()
	kind := m.IntN(value.NumField() + 1)
	if kind == value.NumField() {
		return source
	}
	field := value.Field(kind)
	field.Set(reflect.New(field.Type().Elem()))
	m.fillSource(&source)
	return source
}

// fillSource gives a source what leads to another object.
func (m *Maker) fillSource(s *corev1.VolumeSource) {
	switch {
	case s.Secret != nil:
		s.Secret.SecretName = m.local().Name
	case s.ConfigMap != nil:
		s.ConfigMap.LocalObjectReference = m.local()
	case s.AzureFile != nil:
		s.AzureFile.SecretName = m.volumeID()
	case s.CephFS != nil:
		s.CephFS.SecretRef = m.reference()
	case s.Cinder != nil:
		s.Cinder.VolumeID, s.Cinder.SecretRef = m.volumeID(), m.reference()
	case s.FlexVolume != nil:
		s.FlexVolume.SecretRef = m.reference()
	case s.RBD != nil:
		s.RBD.SecretRef = m.reference()
	case s.ScaleIO != nil:
		s.ScaleIO.SecretRef = m.reference()
	case s.ISCSI != nil:
		s.ISCSI.SecretRef = m.reference()
	case s.StorageOS != nil:
		s.StorageOS.SecretRef = m.reference()
	case s.AWSElasticBlockStore != nil:
		s.AWSElasticBlockStore.VolumeID = m.volumeID()
	case s.GCEPersistentDisk != nil:
		s.GCEPersistentDisk.PDName = m.volumeID()
	case s.Projected != nil:
		s.Projected = m.projected()
	case s.PersistentVolumeClaim != nil:
		s.PersistentVolumeClaim.ClaimName = pick(m.Dice, claimNames)
	}
}
