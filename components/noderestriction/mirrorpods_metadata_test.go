// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestMirrorPodName(t *testing.T) {
	named := func(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Name = name } }
	refused := func(name string) string {
		return `pods "` + name +
			`" is forbidden: node "me" can only create mirror pods whose names end in -me ` +
			`and that have no finalizers [NR-MIRROR-5]`
	}
	lasting := func(p *corev1.Pod) { p.Finalizers = []string{"example.com/never"} }
	run(t, restrict(aCluster(), gated()), []row{
		{name: "a name as a kubelet makes it", write: mirror(nil)},
		{name: "another static pod's", write: mirror(nil, named("kube-apiserver-me"))},
		{name: "another node's", write: mirror(nil, named("kube-apiserver-other")), by: "NR-MIRROR-5",
			says: refused("kube-apiserver-other")},
		{name: "one that only ends so", write: mirror(nil, named("kube-apiserverme")), by: "NR-MIRROR-5",
			says: refused("kube-apiserverme")},
		{name: "the node's name alone", write: mirror(nil, named("me")), by: "NR-MIRROR-5", says: refused("me")},
		{name: "a finalizer", write: mirror(nil, lasting), by: "NR-MIRROR-5", says: refused("static-me")},
	})
	off := func(p *configuration.MirrorPods) { p.Gate = configuration.Off }
	run(t, restrict(aCluster(), gated(off)),
		[]row{{name: "off, any name", write: mirror(nil, named("kube-apiserver-other"))}})
	run(t, restrict(aCluster(), gated(warnOnly)),
		[]row{{name: "a warning admits it", write: mirror(nil, named("kube-apiserver-other"))}})
}

func affine(affinity corev1.Affinity) podEdit {
	return func(p *corev1.Pod) { p.Spec.Affinity = &affinity }
}

func TestMirrorPodScheduling(t *testing.T) {
	const says = aboutStatic + `node "me" cannot create mirror pods with `
	anti := corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelOSStable}},
	}}
	group := func(p *corev1.Pod) {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("training")}
	}
	run(t, restrict(aCluster(), enforce("NR-POD-11")), []row{
		{name: "mirror pod without affinity: admitted", write: createMirror()},
		{name: "mirror pod with node affinity: admitted",
			write: createMirror(affine(corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}))},
		{name: "mirror pod with anti-affinity to pods: denied", write: createMirror(affine(anti)), by: "NR-POD-11",
			says: says + "podAntiAffinity [NR-POD-11]"},
		{name: "mirror pod with affinity to pods: denied",
			write: createMirror(affine(corev1.Affinity{PodAffinity: &corev1.PodAffinity{}})), by: "NR-POD-11",
			says: says + "podAffinity [NR-POD-11]"},
		{name: "mirror pod in a scheduling group: denied", write: createMirror(group), by: "NR-POD-11",
			says: says + "a schedulingGroup [NR-POD-11]"},
	})
	run(t, restrict(aCluster()),
		[]row{{name: "rule off, anti-affinity to pods: admitted", write: createMirror(affine(anti))}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-POD-11")), createMirror(affine(anti)), "NR-POD-11")
}

func TestMirrorPodVolumes(t *testing.T) {
	const says = aboutStatic + `node "me" cannot create mirror pods with volumes that are attached: volume "v" [NR-POD-12]`
	disk := corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
	both := disk
	both.HostPath = &corev1.HostPathVolumeSource{}
	run(t, restrict(aCluster(), enforce("NR-POD-12")), []row{
		{name: "mirror pod with a hostPath: admitted", write: createMirror()},
		{name: "mirror pod with an emptyDir: admitted",
			write: createMirror(volumes(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))},
		{name: "mirror pod with a disk: denied", write: createMirror(volumes(disk)), by: "NR-POD-12", says: says},
		{name: "mirror pod with a disk that is also a hostPath: denied", write: createMirror(volumes(both)), by: "NR-POD-12",
			says: says},
		{name: "mirror pod with an iSCSI target: denied",
			write: createMirror(volumes(corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}})), by: "NR-POD-12", says: says},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off, a disk: admitted", write: createMirror(volumes(disk))}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-POD-12")), createMirror(volumes(disk)), "NR-POD-12")
}

// TestKubeletVolumesAreListed checks each volume type separately. A type that Kubernetes adds later
// is denied.
func TestKubeletVolumesAreListed(t *testing.T) {
	admitted := map[string]bool{"HostPath": true, "EmptyDir": true, "DownwardAPI": true, "Image": true, "NFS": true,
		"Projected": true}
	kinds := reflect.TypeFor[corev1.VolumeSource]()
	for i := range kinds.NumField() {
		var source corev1.VolumeSource
		reflect.ValueOf(&source).Elem().Field(i).Set(reflect.New(kinds.Field(i).Type.Elem()))
		if got, want := byKubeletAlone(source), admitted[kinds.Field(i).Name]; got != want {
			t.Errorf("%s: %v, want %v", kinds.Field(i).Name, got, want)
		}
	}
	if byKubeletAlone(corev1.VolumeSource{}) {
		t.Error("a volume of no kind is admitted")
	}
}
