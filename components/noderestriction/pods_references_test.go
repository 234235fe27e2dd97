// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const noReference = ""

func references(noun string) string {
	return aboutStatic + `node "me" can not create pods that reference ` + noun + " [NR-POD-3]"
}

// referring returns a row for a mirror pod that refers to noun, or to nothing.
func referring(name, noun string, edits ...podEdit) row {
	r := row{name: name, write: createMirror(edits...)}
	if noun != noReference {
		r.by, r.says = "NR-POD-3", references(noun)
	}
	return r
}

func volumes(sources ...corev1.VolumeSource) podEdit {
	return func(p *corev1.Pod) {
		for _, source := range sources {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
		}
	}
}

func TestMirrorPodReferences(t *testing.T) {
	name := corev1.LocalObjectReference{Name: "x"}
	env := []corev1.EnvVar{{Name: "E", Value: "v"},
		{Name: "F", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: name}}}}
	configEnv := []corev1.EnvVar{{Name: "F",
		ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: name}}}}
	from := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name}}}
	configFrom := []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name}}}
	ephemeral := func(c corev1.EphemeralContainerCommon) podEdit {
		return func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: c}}
		}
	}
	initial := func(c corev1.Container) podEdit {
		return func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{c} }
	}
	run(t, restrict(aCluster()), []row{
		referring("nothing", noReference),
		referring("a service account", "serviceaccounts", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "default" }),
		referring("a service account by its old name", "serviceaccounts",
			func(p *corev1.Pod) { p.Spec.DeprecatedServiceAccount = "default" }),
		referring("a pull secret", "secrets",
			func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{}, name} }),
		referring("a pull secret without a name", noReference,
			func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{}} }),
		referring("a secret in a variable", "secrets", func(p *corev1.Pod) { p.Spec.Containers[0].Env = env }),
		referring("a variable of its own", noReference, func(p *corev1.Pod) { p.Spec.Containers[0].Env = env[:1] }),
		referring("a secret as the environment", "secrets", func(p *corev1.Pod) { p.Spec.Containers[0].EnvFrom = from }),
		referring("a config map in a variable", "configmaps", func(p *corev1.Pod) { p.Spec.Containers[0].Env = configEnv }),
		referring("a config map as the environment", "configmaps",
			func(p *corev1.Pod) { p.Spec.Containers[0].EnvFrom = configFrom }),
		referring("a secret at first", "secrets", initial(corev1.Container{Env: env})),
		referring("a secret as the environment at first", "secrets", initial(corev1.Container{EnvFrom: from})),
		referring("a config map at first", "configmaps", initial(corev1.Container{EnvFrom: configFrom})),
		referring("a secret later", "secrets", ephemeral(corev1.EphemeralContainerCommon{Env: env})),
		referring("a config map later", "configmaps", ephemeral(corev1.EphemeralContainerCommon{EnvFrom: configFrom})),
		referring("nothing later", noReference, ephemeral(corev1.EphemeralContainerCommon{Env: env[:1]})),
		referring("a secret without a name", noReference, func(p *corev1.Pod) {
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}}
		}),
		referring("a claim of a device", "resourceclaims",
			func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }),
		referring("a service account before a secret", "serviceaccounts",
			func(p *corev1.Pod) { p.Spec.ServiceAccountName = "x"; p.Spec.Containers[0].Env = env }),
		referring("a secret before a config map", "secrets", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Env: configEnv}}
			p.Spec.Containers[0].Env = env
		}),
		referring("a config map before a claim", "configmaps", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
			p.Spec.Containers[0].Env = configEnv
		}),
	})
}

// kindsOfVolumes says, for each volume type, what a mirror pod refers to by such a volume without
// names. A type that Kubernetes adds is missing here, and the test fails until it is added.
var kindsOfVolumes = map[string]string{
	"HostPath": noReference, "EmptyDir": noReference, "GCEPersistentDisk": noReference,
	"AWSElasticBlockStore": noReference,
	"GitRepo":              noReference, "NFS": noReference, "ISCSI": noReference, "RBD": noReference,
	"FlexVolume": noReference,
	"Cinder":     noReference, "CephFS": noReference, "Flocker": noReference, "DownwardAPI": noReference,
	"FC":            noReference,
	"VsphereVolume": noReference, "Quobyte": noReference, "AzureDisk": noReference, "PhotonPersistentDisk": noReference,
	"Projected": noReference, "PortworxVolume": noReference, "ScaleIO": noReference, "StorageOS": noReference,
	"Image":                 noReference,
	"Secret":                "secrets (via secret volumes)",
	"Glusterfs":             "endpoints (via glusterFS volumes)",
	"PersistentVolumeClaim": "persistentvolumeclaims",
	"AzureFile":             "secrets (via azureFile volumes)",
	"ConfigMap":             "configmaps (via configmap volumes)",
	"CSI":                   "csidrivers (via CSI volumes)",
	"Ephemeral":             "persistentvolumeclaims (via ephemeral volumes)",
}

var kindsOfProjections = map[string]string{
	"DownwardAPI":         noReference,
	"Secret":              "secrets (via projected volumes)",
	"ConfigMap":           "configmaps (via projected volumes)",
	"ServiceAccountToken": "serviceaccounts (via projected volumes)",
	"ClusterTrustBundle":  "clustertrustbundles",
	"PodCertificate":      "podcertificates",
}

// each calls visit once per field, with a struct that has only that field set.
func each[T any](visit func(field string, only T)) {
	fields := reflect.TypeFor[T]()
	for i := range fields.NumField() {
		var only T
		reflect.ValueOf(&only).Elem().Field(i).Set(reflect.New(fields.Field(i).Type.Elem()))
		visit(fields.Field(i).Name, only)
	}
}

func TestEveryKindOfVolume(t *testing.T) {
	var rows []row
	each(func(kind string, source corev1.VolumeSource) {
		noun, known := kindsOfVolumes[kind]
		if !known {
			t.Errorf("a volume of the kind %s: what does it refer to?", kind)
		}
		rows = append(rows, referring(kind, noun, volumes(source)))
		if noun != noReference {
			source.HostPath = &corev1.HostPathVolumeSource{}
			rows = append(rows, referring(kind+" behind another kind", noun, volumes(source)))
		}
	})
	each(func(kind string, source corev1.VolumeProjection) {
		noun, known := kindsOfProjections[kind]
		if !known {
			t.Errorf("a projection of the kind %s: what does it refer to?", kind)
		}
		harmless := corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}
		projected := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{harmless,
			source}}}
		rows = append(rows, referring("projected "+kind, noun, volumes(projected)))
		if noun != noReference {
			source.DownwardAPI = harmless.DownwardAPI
			behind := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}}
			rows = append(rows, referring("projected "+kind+" behind another kind", noun, volumes(behind)))
		}
	})
	run(t, restrict(aCluster()), rows)
}

func TestVolumesThatNameObjects(t *testing.T) {
	name := &corev1.LocalObjectReference{Name: "x"}
	host := &corev1.HostPathVolumeSource{Path: "/"}
	rows := []row{
		referring("the first decides", "secrets (via secret volumes)", volumes(
			corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}},
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}})),
		referring("but names come before kinds", "configmaps", volumes(
			corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}},
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: *name}})),
		referring("a projected secret", "secrets", volumes(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: *name}}}}})),
		referring("a projected config map", "configmaps",
			volumes(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: *name}}}}})),
	}
	for kind, source := range map[string]corev1.VolumeSource{
		"Secret":     {Secret: &corev1.SecretVolumeSource{SecretName: "x"}},
		"AzureFile":  {AzureFile: &corev1.AzureFileVolumeSource{SecretName: "x"}},
		"CephFS":     {CephFS: &corev1.CephFSVolumeSource{SecretRef: name}},
		"Cinder":     {Cinder: &corev1.CinderVolumeSource{SecretRef: name}},
		"FlexVolume": {FlexVolume: &corev1.FlexVolumeSource{SecretRef: name}},
		"RBD":        {RBD: &corev1.RBDVolumeSource{SecretRef: name}},
		"ScaleIO":    {ScaleIO: &corev1.ScaleIOVolumeSource{SecretRef: name}},
		"ISCSI":      {ISCSI: &corev1.ISCSIVolumeSource{SecretRef: name}},
		"StorageOS":  {StorageOS: &corev1.StorageOSVolumeSource{SecretRef: name}},
		"CSI":        {CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: name}},
	} {
		rows = append(rows, referring(kind, "secrets", volumes(source)))
		source.HostPath = host
		rows = append(rows, referring(kind+" behind another kind", "secrets", volumes(source)))
	}
	run(t, restrict(aCluster()), rows)
}

func TestUnknownVolumes(t *testing.T) {
	unknown := func(name, problem string, source corev1.VolumeSource) row {
		return row{name: name, write: createMirror(volumes(source)), by: "NR-POD-3",
			says: aboutStatic + "error checking mirror pod for API references: " + problem + " [NR-POD-3]"}
	}
	run(t, restrict(aCluster()), []row{
		unknown("a volume of a kind to come", `unknown volume type for volume  "v"`, corev1.VolumeSource{}),
		unknown("a projection of a kind to come", `unknown source for projected volume "v"`,
			corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{}}}}),
		referring("a projection of nothing", noReference,
			volumes(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}})),
	})
}
