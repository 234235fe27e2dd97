// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestReaches(t *testing.T) {
	g := New(Options{})
	pod := podOn("n1", "pod", secretVolume("s"), claimVolume("pvc"))
	pod.Spec.ServiceAccountName = "sa"
	g.SetPod(pod)
	mirror := podOn("n1", "mirror", secretVolume("mirrored"))
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	g.SetPod(mirror)
	g.SetPod(podOn("", "pending", secretVolume("awaited")))
	g.SetPersistentVolume(volumeFor("pvc", "pv", "stage"))
	g.SetPersistentVolume(volumeFor("unused", "idle", "idle-stage"))
	g.SetPersistentVolume(&corev1.PersistentVolume{})
	g.SetVolumeAttachment(attachmentTo("n1", "va"))
	g.SetResourceSlice(sliceOf("n1", "slice"))
	g.SetResourceSlice(sliceOf("", "for-all"))
	g.SetPodCertificateRequest(requestFrom("n1", "ns", "pcr"))

	for _, row := range []struct {
		name      string
		node      string
		kind      Kind
		namespace string
		object    string
		want      bool
	}{
		{"a pod reaches its node", "n1", Pod, "ns", "pod", true},
		{"no other node", "n2", Pod, "ns", "pod", false},
		{"not by its name in another namespace", "n1", Pod, "ns2", "pod", false},
		{"a mirror pod reaches its node", "n1", Pod, "ns", "mirror", true},
		{"a pending pod reaches no node", "", Pod, "ns", "pending", false},
		{"a secret reaches its pod's node", "n1", Secret, "ns", "s", true},
		{"not the secret of a mirror pod", "n1", Secret, "ns", "mirrored", false},
		{"not the secret of a pending pod", "n1", Secret, "ns", "awaited", false},
		{"not the secret of a pending pod by no node", "", Secret, "ns", "awaited", false},
		{"no object of another kind with that name", "n1", ConfigMap, "ns", "s", false},
		{"no object with an empty name", "n1", Secret, "ns", "", false},
		{"a service account reaches its pod's node", "n1", ServiceAccount, "ns", "sa", true},
		{"a claim reaches its pod's node", "n1", PersistentVolumeClaim, "ns", "pvc", true},
		{"a volume reaches its claim's node", "n1", PersistentVolume, "", "pv", true},
		{"not in a namespace", "n1", PersistentVolume, "ns", "pv", false},
		{"volume of an unused claim: no node", "n1", PersistentVolume, "", "idle", false},
		{"a volume's secret reaches its claim's node", "n1", Secret, "csi", "stage", true},
		{"not in the claim's namespace", "n1", Secret, "ns", "stage", false},
		{"secret of a volume of an unused claim: no node", "n1", Secret, "csi", "idle-stage", false},
		{"an attachment reaches its node", "n1", VolumeAttachment, "", "va", true},
		{"no other node's attachment", "n2", VolumeAttachment, "", "va", false},
		{"a slice reaches its node", "n1", ResourceSlice, "", "slice", true},
		{"a slice for all nodes reaches none", "n1", ResourceSlice, "", "for-all", false},
		{"a certificate request reaches its node", "n1", PodCertificateRequest, "ns", "pcr", true},
		{"not in another namespace", "n1", PodCertificateRequest, "ns2", "pcr", false},
		{"an unknown kind reaches none", "n1", Kind(99), "ns", "pod", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := g.Reaches(row.node, row.kind, row.namespace, row.object); got != row.want {
				t.Errorf("Reaches(%q, %v, %q, %q) = %v, want %v", row.node, row.kind, row.namespace, row.object, got, row.want)
			}
		})
	}
}

// In-tree 1.36 and 1.37 fail this: a pod refers twice to a secret that has an index of destinations
// (200 and more). The secret stays readable after the pod is gone.
func TestSecretReferencedTwiceIsRevokedWithThePod(t *testing.T) {
	g := New(Options{})
	const consumers = 250
	for i := range consumers {
		pod := podOn(fmt.Sprintf("n%d", i), fmt.Sprintf("pod%d", i), secretVolume("shared"))
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "shared"}}
		g.SetPod(pod)
	}
	if !g.Reaches("n7", Secret, "ns", "shared") {
		t.Fatal("the secret does not reach a node whose pod names it")
	}
	g.DeletePod("ns", "pod7")
	if g.Reaches("n7", Secret, "ns", "shared") {
		t.Error("the secret still reaches the node whose only pod is gone")
	}
	if !g.Reaches("n8", Secret, "ns", "shared") {
		t.Error("the secret no longer reaches a node whose pod still names it")
	}
}

func TestPodUpdates(t *testing.T) {
	other := podOn("n1", "pod", secretVolume("new"))
	other.UID = "another"
	grown := podOn("n1", "pod", secretVolume("old"))
	grown.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{EnvFrom: fromSecret("new")}}}
	mirror := podOn("n1", "pod", secretVolume("old"))
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	type answers struct{ OldOn1, NewOn1, OldOn2, PodOn1, PodOn2 bool }
	for _, row := range []struct {
		name string
		next *corev1.Pod
		want answers
	}{
		{"same pod again: unchanged", podOn("n1", "pod", secretVolume("old")), answers{OldOn1: true, PodOn1: true}},
		{"one of the same name with another UID replaces it", other, answers{NewOn1: true, PodOn1: true}},
		{"an ephemeral container adds", grown, answers{OldOn1: true, NewOn1: true, PodOn1: true}},
		{"one on another node leaves the first", podOn("n2", "pod", secretVolume("old")),
			answers{OldOn2: true, PodOn2: true}},
		{"one without a node leaves all", podOn("", "pod", secretVolume("old")), answers{}},
		{"one that became a mirror pod keeps its node only", mirror, answers{PodOn1: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := New(Options{})
			g.SetPod(podOn("n1", "pod", secretVolume("old")))
			g.SetPod(row.next)
			got := answers{
				OldOn1: g.Reaches("n1", Secret, "ns", "old"),
				NewOn1: g.Reaches("n1", Secret, "ns", "new"),
				OldOn2: g.Reaches("n2", Secret, "ns", "old"),
				PodOn1: g.Reaches("n1", Pod, "ns", "pod"),
				PodOn2: g.Reaches("n2", Pod, "ns", "pod"),
			}
			if diff := gocmp.Diff(row.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

// A later query by UID must not find an older pod of the same name.
func TestRecordCarriesTheLatestUID(t *testing.T) {
	g := New(Options{})
	g.SetPod(podOn("n1", "pod"))
	again := podOn("n1", "pod")
	again.UID = "another"
	g.SetPod(again)
	s := &g.state
	if got := s.pods.at(s.objects.at(s.objects.find(Pod, "ns", "pod")).detail).uid; got != again.UID {
		t.Errorf("uid = %q, want %q", got, again.UID)
	}
}

// The claim may be set before or after the volume. Several volumes may share a secret to which a
// pod also refers.
func TestVolumeSecretsComeAndGoWithTheClaim(t *testing.T) {
	g := New(Options{})
	stage := func() bool { return g.Reaches("n1", Secret, "csi", "stage") }
	expect := func(want bool, after string) {
		t.Helper()
		if stage() != want {
			t.Fatalf("after %s: secret reaches the node: %v, want %v", after, !want, want)
		}
	}
	g.SetPersistentVolume(volumeFor("a", "pv-a", "stage"))
	g.SetPersistentVolume(volumeFor("a", "pv-a2", "stage"))
	g.SetPersistentVolume(volumeFor("b", "pv-b", "stage"))
	expect(false, "volumes without pods")
	g.SetPod(podOn("n1", "one", claimVolume("a")))
	expect(true, "a pod with claim a")
	g.SetPod(podOn("n1", "two", claimVolume("a"), claimVolume("b")))
	g.DeletePod("ns", "one")
	expect(true, "another pod took over claim a")
	g.DeletePersistentVolume("pv-a")
	g.SetPersistentVolume(volumeFor("c", "pv-a2", "stage"))
	expect(true, "claim a lost its volumes, b has one")
	g.SetPersistentVolume(volumeFor("b", "pv-b", "other"))
	expect(false, "the last volume changed its secret")
	g.SetPod(podOn("n1", "three", claimVolume("c")))
	expect(true, "a pod with claim c, to which a volume moved")
	g.DeletePod("ns", "three")
	expect(false, "that pod is gone")
}

func TestReplaceRemovesUnlistedObjects(t *testing.T) {
	g := New(Options{})
	g.SetPod(podOn("n1", "old", secretVolume("old")))
	g.SetPod(podOn("n1", "kept", secretVolume("kept")))
	g.SetPersistentVolume(volumeFor("pvc", "old", "stage"))
	g.SetVolumeAttachment(attachmentTo("n1", "old"))
	g.SetResourceSlice(sliceOf("n1", "old"))
	g.SetPodCertificateRequest(requestFrom("n1", "ns", "old"))

	kept := podOn("n1", "kept", secretVolume("kept"))
	added := podOn("n1", "added", secretVolume("added"))
	replace(g, Pod, g.SetPod, added, kept)
	replace(g, PersistentVolume, g.SetPersistentVolume)
	replace(g, VolumeAttachment, g.SetVolumeAttachment)
	replace(g, ResourceSlice, g.SetResourceSlice, sliceOf("n1", "added"))
	replace(g, PodCertificateRequest, g.SetPodCertificateRequest)

	want := New(Options{})
	want.SetPod(kept)
	want.SetPod(added)
	want.SetResourceSlice(sliceOf("n1", "added"))
	if diff := gocmp.Diff(want.Stats(), g.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
	for object, reached := range map[string]bool{"old": false, "kept": true, "added": true} {
		if got := g.Reaches("n1", Secret, "ns", object); got != reached {
			t.Errorf("secret %s reaches the node: %v, want %v", object, got, reached)
		}
	}
}

func TestStatsCountsEachRelationOnce(t *testing.T) {
	g := New(Options{})
	pod := podOn("n1", "pod", secretVolume("s"), secretVolume("s"), claimVolume("pvc"))
	pod.Spec.ServiceAccountName = "sa"
	g.SetPod(pod)
	g.SetPersistentVolume(volumeFor("pvc", "pv", "stage"))
	g.SetVolumeAttachment(attachmentTo("n2", "va"))
	want := Stats{Nodes: 2, Namespaces: 3, Edges: 4 + 2 + 1}
	want.Objects[Pod], want.Objects[ServiceAccount], want.Objects[PersistentVolumeClaim] = 1, 1, 1
	want.Objects[Secret], want.Objects[PersistentVolume], want.Objects[VolumeAttachment] = 2, 1, 1
	if diff := gocmp.Diff(want, g.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range append(Kinds(), Kind(99)) {
		if name := kind.String(); name == "" || seen[name] {
			t.Errorf("kind %d has no name of its own: %q", kind, name)
		}
		seen[kind.String()] = true
	}
}
