// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// volumes returns volumes of any kind.
func (m *Generator) volumes(most int) []corev1.Volume {
	var volumes []corev1.Volume
	for i := range m.IntN(most + 1) {
		volumes = append(volumes, corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: m.volumeSource()})
	}
	return volumes
}

// unlawful returns a volume with up to two sources. No API server stores such a volume, so no pod
// of the cluster has one.
func (m *Generator) unlawful() corev1.Volume {
	source := m.volumeSource()
	merge(&source, m.volumeSource())
	return corev1.Volume{Name: "unlawful", VolumeSource: source}
}

// merge adds the sources that are set in other.
func merge(source *corev1.VolumeSource, other corev1.VolumeSource) {
	into, from := reflect.ValueOf(source).Elem(), reflect.ValueOf(other)
	for i := range from.NumField() {
		if !from.Field(i).IsNil() {
			into.Field(i).Set(from.Field(i))
		}
	}
}

func (m *Generator) volumeSource() corev1.VolumeSource {
	if m.OneIn(3) {
		return m.usualSource()
	}
	return m.anySource()
}

// usualSource returns a source that leads to an audience or a signer.
func (m *Generator) usualSource() corev1.VolumeSource {
	switch m.IntN(4) {
	case 0:
		return corev1.VolumeSource{
			CSI: &corev1.CSIVolumeSource{Driver: m.driverName(), NodePublishSecretRef: m.reference()},
		}
	case 1:
		return corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: harness.Pick(m.RNG, claimNames),
			},
		}
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

func (m *Generator) projected() *corev1.ProjectedVolumeSource {
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

func (m *Generator) projection() corev1.VolumeProjection {
	switch m.IntN(9) {
	case 0:
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: m.local()}}
	case 1:
		return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: m.local()}}
	case 2:
		return corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "p"}}
	case 3, 4:
		return corev1.VolumeProjection{
			PodCertificate: &corev1.PodCertificateProjection{SignerName: harness.Pick(m.RNG, signers)},
		}
	case 5, 6:
		return corev1.VolumeProjection{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: m.audience(), Path: "token"},
		}
	case 7:
		return corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}
	default:
		return corev1.VolumeProjection{}
	}
}

// reference returns nil, a reference without a name, or a complete reference.
func (m *Generator) reference() *corev1.LocalObjectReference {
	if m.OneIn(2) {
		return nil
	}
	local := m.local()
	return &local
}

func (m *Generator) local() corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: harness.Pick(m.RNG, []string{"x", ""})}
}

// harmlessSource returns a source that needs no API object.
func (m *Generator) harmlessSource() corev1.VolumeSource {
	switch m.IntN(4) {
	case 0:
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	case 1:
		return corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}
	case 2:
		return corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{}}},
			},
		}
	default:
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}
	}
}

// anySource returns a source of any kind, or an empty one.
func (m *Generator) anySource() corev1.VolumeSource {
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

// fillSource sets the fields of a source that lead to another object.
func (m *Generator) fillSource(s *corev1.VolumeSource) {
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
		s.PersistentVolumeClaim.ClaimName = harness.Pick(m.RNG, claimNames)
	}
}
