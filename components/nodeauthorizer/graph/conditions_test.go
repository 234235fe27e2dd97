// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestConditionsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, condition := range []Condition{Unconditional, Ended, Unusable, Unowned, 99} {
		if name := condition.String(); name == "" || seen[name] {
			t.Errorf("condition %d has no name of its own: %q", condition, name)
		}
		seen[condition.String()] = true
	}
}

// everyKindOn returns a pod that refers to one object of each kind. All are called x, except for
// the secret of the claim's volume.
func everyKindOn(node, name string) *corev1.Pod {
	pod := podOn(node, name, secretVolume("x"), configMapVolume("x"), claimVolume("x"))
	withProjected(
		corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}},
		corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}},
	)(pod)
	pod.Spec.ServiceAccountName = "x"
	withClaim(corev1.PodResourceClaim{ResourceClaimName: ptr.To("x")})(pod)
	return pod
}

func withEndedPod(g *Graph) {
	g.SetPod(everyKindOn("n1", "pod"))
	g.SetPersistentVolume(volumeFor("x", "x", "stage"))
	g.EndPod("ns", "pod", "uid-of-pod")
}

func withAccount(tweaks ...func(*corev1.Pod)) func(*Graph) {
	return func(g *Graph) {
		pod := podOn("n1", "pod")
		pod.Spec.ServiceAccountName = "x"
		for _, tweak := range tweaks {
			tweak(pod)
		}
		g.SetPod(pod)
	}
}

func withEphemeral(claims ...*corev1.PersistentVolumeClaim) func(*Graph) {
	return func(g *Graph) {
		g.SetPod(podOn("n1", "pod", ephemeralVolume("vol")))
		g.SetPersistentVolume(volumeFor("pod-vol", "x", "stage"))
		for _, claim := range claims {
			g.SetPersistentVolumeClaim(claim)
		}
	}
}

type conditionRow struct {
	name      string
	world     func(*Graph)
	kind      Kind
	namespace string
	object    string
	want      Condition
}

func endedRows() []conditionRow {
	return []conditionRow{
		{"a secret of a pod that has ended", withEndedPod, Secret, "ns", "x", Ended},
		{"a secret of its volume", withEndedPod, Secret, "csi", "stage", Ended},
		{"its configmap", withEndedPod, ConfigMap, "ns", "x", Ended},
		{"its account", withEndedPod, ServiceAccount, "ns", "x", Ended},
		{"its account's tokens", withEndedPod, ServiceAccountToken, "ns", "x", Ended},
		{"not its claim", withEndedPod, PersistentVolumeClaim, "ns", "x", Unconditional},
		{"not its volume", withEndedPod, PersistentVolume, "", "x", Unconditional},
		{"not its resource claim", withEndedPod, ResourceClaim, "ns", "x", Unconditional},
		{"not itself", withEndedPod, Pod, "ns", "pod", Unconditional},
		{"secret that another pod also references", func(g *Graph) {
			withEndedPod(g)
			g.SetPod(everyKindOn("n1", "running"))
		}, Secret, "ns", "x", Unconditional},
		{"secret of a volume that another pod also uses", func(g *Graph) {
			withEndedPod(g)
			g.SetPod(everyKindOn("n1", "running"))
		}, Secret, "csi", "stage", Unconditional},
		{"the secret of a volume that comes later", func(g *Graph) {
			withEndedPod(g)
			g.SetPersistentVolume(volumeFor("x", "late", "late"))
		}, Secret, "csi", "late", Ended},
		{"secret that the ended pod references later", func(g *Graph) {
			withEndedPod(g)
			g.SetPod(podOn("n1", "pod", secretVolume("late")))
		}, Secret, "ns", "late", Ended},
		{"still, whatever phase it shows", func(g *Graph) {
			withEndedPod(g)
			again := everyKindOn("n1", "pod")
			again.Status.Phase = corev1.PodRunning
			g.SetPod(again)
			replace(g, Pod, g.SetPod, again)
		}, Secret, "ns", "x", Ended},
		{"not of its successor of the same name", func(g *Graph) {
			withEndedPod(g)
			again := everyKindOn("n1", "pod")
			again.UID = "another"
			g.SetPod(again)
			g.EndPod("ns", "pod", "uid-of-pod")
		}, Secret, "ns", "x", Unconditional},
		{"phase shows the end before the event", func(g *Graph) {
			pod := everyKindOn("n1", "pod")
			pod.Status.Phase = corev1.PodSucceeded
			g.SetPod(pod)
		}, Secret, "ns", "x", Unconditional},
	}
}

func accountRows() []conditionRow {
	projected := func(source corev1.VolumeProjection) func(*Graph) { return withAccount(withProjected(source)) }
	token := corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}
	certificate := corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}}
	csi := withAccount(withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}))
	claim := withAccount(withVolume(claimVolume("pvc").VolumeSource))
	ephemeral := withAccount(withVolume(ephemeralVolume("vol").VolumeSource))
	return []conditionRow{
		{"tokens of a pod without volumes", withAccount(), ServiceAccountToken, "ns", "x", Unusable},
		{"its account", withAccount(), ServiceAccount, "ns", "x", Unusable},
		{"tokens of a pod with a secret", withAccount(withVolume(secretVolume("s").VolumeSource)), ServiceAccountToken, "ns",
			"x", Unusable},
		{"not tokens of a pod with a projected token", projected(token), ServiceAccountToken, "ns", "x", Unconditional},
		{"but its account", projected(token), ServiceAccount, "ns", "x", Unusable},
		{"not the account of a pod with a certificate", projected(certificate), ServiceAccount, "ns", "x", Unconditional},
		{"but its tokens", projected(certificate), ServiceAccountToken, "ns", "x", Unusable},
		{"not tokens of a pod with a CSI volume", csi, ServiceAccountToken, "ns", "x", Unconditional},
		{"but its account", csi, ServiceAccount, "ns", "x", Unusable},
		{"not tokens of a pod with a claim", claim, ServiceAccountToken, "ns", "x", Unconditional},
		{"not tokens of a pod with an ephemeral volume", ephemeral, ServiceAccountToken, "ns", "x", Unconditional},
		{"not tokens that another pod can use", func(g *Graph) {
			withAccount()(g)
			other := podOn("n1", "other")
			other.Spec.ServiceAccountName = "x"
			withProjected(token)(other)
			g.SetPod(other)
		}, ServiceAccountToken, "ns", "x", Unconditional},
	}
}

func ownerRows() []conditionRow {
	own := claimOf("pod", "uid-of-pod", "pod-vol")
	otherKind, notController := own.DeepCopy(), own.DeepCopy()
	otherKind.OwnerReferences[0].Kind = "ReplicaSet"
	notController.OwnerReferences[0].Controller = nil
	otherGroup := own.DeepCopy()
	otherGroup.OwnerReferences[0].APIVersion = "example.com/v1"
	bare := own.DeepCopy()
	bare.OwnerReferences = nil
	claimFirst := func(g *Graph) {
		g.SetPersistentVolumeClaim(own)
		withEphemeral()(g)
	}
	return []conditionRow{
		{"a claim that is not known", withEphemeral(), PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"its volume", withEphemeral(), PersistentVolume, "", "x", Unowned},
		{"its volume's secret", withEphemeral(), Secret, "csi", "stage", Unowned},
		{"not the pod's own claim", withEphemeral(own), PersistentVolumeClaim, "ns", "pod-vol", Unconditional},
		{"not its volume", withEphemeral(own), PersistentVolume, "", "x", Unconditional},
		{"not its volume's secret", withEphemeral(own), Secret, "csi", "stage", Unconditional},
		{"not a claim that was there before the pod", claimFirst, PersistentVolumeClaim, "ns", "pod-vol", Unconditional},
		{"a claim that is gone", func(g *Graph) {
			withEphemeral(own)(g)
			g.DeletePersistentVolumeClaim("ns", "pod-vol")
		}, PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"a claim that is not listed", func(g *Graph) {
			withEphemeral(own)(g)
			replace(g, PersistentVolumeClaim, g.SetPersistentVolumeClaim)
		}, PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"a claim without an owner", withEphemeral(bare), PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"a claim that lost its owner", withEphemeral(own, bare), PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"a claim of a pod of another UID", withEphemeral(claimOf("pod", "another", "pod-vol")), PersistentVolumeClaim, "ns",
			"pod-vol", Unowned},
		{"a claim of a pod of another name", withEphemeral(claimOf("other", "uid-of-pod", "pod-vol")), PersistentVolumeClaim,
			"ns", "pod-vol", Unowned},
		{"a claim of a pod of another name that was there before", func(g *Graph) {
			g.SetPersistentVolumeClaim(claimOf("other", "uid-of-pod", "pod-vol"))
			withEphemeral()(g)
		}, PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"a claim that something else controls", withEphemeral(otherKind), PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"a claim that a Pod of another group controls", withEphemeral(otherGroup), PersistentVolumeClaim, "ns", "pod-vol",
			Unowned},
		{"a claim that the pod does not control", withEphemeral(notController), PersistentVolumeClaim, "ns", "pod-vol",
			Unowned},
		{"a claim that changed its owner", withEphemeral(own, claimOf("other", "uid-of-other", "pod-vol")),
			PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"the successor's claim of the pod before", func(g *Graph) {
			withEphemeral(own)(g)
			again := podOn("n1", "pod", ephemeralVolume("vol"))
			again.UID = "another"
			g.SetPod(again)
		}, PersistentVolumeClaim, "ns", "pod-vol", Unowned},
		{"not a claim that the pod names itself", func(g *Graph) {
			g.SetPod(podOn("n1", "pod", claimVolume("pod-vol")))
		}, PersistentVolumeClaim, "ns", "pod-vol", Unconditional},
		{"not one that it names both ways", func(g *Graph) {
			g.SetPod(podOn("n1", "pod", claimVolume("pod-vol"), ephemeralVolume("vol")))
		}, PersistentVolumeClaim, "ns", "pod-vol", Unconditional},
	}
}

// Each row is checked in each mode of all rules. Off ignores the condition, audit reports it, and
// enforce refuses because of it.
func TestConditions(t *testing.T) {
	for _, rows := range []struct {
		with func(rules.Mode) Options
		rows []conditionRow
	}{
		{func(m rules.Mode) Options { return Options{Ended: m} }, endedRows()},
		{func(m rules.Mode) Options { return Options{Unusable: m} }, accountRows()},
		{func(m rules.Mode) Options { return Options{Unowned: m} }, ownerRows()},
	} {
		for _, row := range rows.rows {
			for _, mode := range []rules.Mode{rules.Off, rules.Audit, rules.Enforce} {
				want := Relation{Related: mode != rules.Enforce || row.want == Unconditional, Condition: row.want}
				if mode == rules.Off {
					want.Condition = Unconditional
				}
				t.Run(row.want.String()+": "+row.name+" in mode "+mode.String(), func(t *testing.T) {
					g := New(rows.with(mode))
					row.world(g)
					got := g.Relation("n1", row.kind, row.namespace, row.object)
					if diff := gocmp.Diff(want, got); diff != "" {
						t.Errorf("Relation (-want +got):\n%s", diff)
					}
					if other := g.Relation("n2", row.kind, row.namespace, row.object); other != (Relation{}) {
						t.Errorf("Relation to another node = %+v", other)
					}
				})
			}
		}
	}
}

func TestHasEnded(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]bool{
		corev1.PodSucceeded: true, corev1.PodFailed: true,
		corev1.PodPending: false, corev1.PodRunning: false, corev1.PodUnknown: false, "": false,
	} {
		pod := &corev1.Pod{}
		pod.Status.Phase = phase
		if got := HasEnded(pod); got != want {
			t.Errorf("HasEnded in phase %q = %v, want %v", phase, got, want)
		}
	}
}
