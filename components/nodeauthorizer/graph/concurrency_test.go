// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// While other objects are set and deleted, a related object is never refused, and an unrelated
// object is never allowed.
func TestReadersSeeNoMomentInBetween(t *testing.T) {
	g := New(Options{rules.Enforce, rules.Enforce, rules.Enforce, false})
	steady := podOn("n1", "steady", secretVolume("shared"), claimVolume("pvc"))
	g.SetPod(steady)
	g.SetPersistentVolume(volumeFor("pvc", "pv", "stage"))

	g.SetPod(podOn("n8", "ended", secretVolume("shared")))
	g.EndPod("ns", "ended", "uid-of-ended")

	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for writer := range 3 {
		writers.Go(func() { churn(g, writer) })
	}
	writers.Go(func() { churnVolumes(g) })
	writers.Go(func() { churnConditions(g) })
	writers.Go(func() {
		for range 60 {
			again := steady.DeepCopy()
			g.SetPod(again)
			again.UID = "re-created"
			again.Spec.Volumes = append(again.Spec.Volumes, secretVolume("more"))
			g.SetPod(again)
		}
	})
	for range 2 {
		readers.Go(func() { watchAnswers(t, g, stop) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()

	g.SetPod(steady)
	g.DeletePod("ns", "ended")
	fresh := New(Options{})
	fresh.SetPod(steady)
	fresh.SetPersistentVolume(volumeFor("pvc", "pv", "stage"))
	if diff := gocmp.Diff(fresh.Stats(), g.Stats()); diff != "" {
		t.Errorf("Stats afterwards (-want +got):\n%s", diff)
	}
}

func churn(g *Graph, writer int) {
	for i := range 60 {
		name := fmt.Sprintf("pod-%d-%d", writer, i%7)
		g.SetPod(podOn(fmt.Sprintf("n%d", i%5), name, secretVolume("shared"), claimVolume("pvc")))
		g.SetVolumeAttachment(attachmentTo("n1", name))
		g.SetResourceSlice(sliceOf("n1", name))
		g.SetPodCertificateRequest(requestFrom("n1", name, "pcr"))
		g.DeletePodCertificateRequest(name, "pcr")
		g.DeleteResourceSlice(name)
		g.DeleteVolumeAttachment(name)
		g.DeletePod("ns", name)
		g.Stats()
	}
}

// churnConditions repeatedly ends pods next to the steady one, sets and deletes claims, and writes
// the pod on n8 that has already ended.
func churnConditions(g *Graph) {
	for i := range 60 {
		uid := types.UID(fmt.Sprint(i))
		pod := podOn("n1", "ending", secretVolume("shared"), claimVolume("pvc"), ephemeralVolume("vol"))
		pod.UID = uid
		g.SetPod(pod)
		g.SetPersistentVolumeClaim(claimOf("ending", uid, "ending-vol"))
		g.EndPod("ns", "ending", uid)
		g.SetPod(podOn("n8", "ended", secretVolume("shared")))
		g.SetNode(nodeNamed("n8"))
		g.DeletePersistentVolumeClaim("ns", "ending-vol")
		g.SetCertificateSigningRequest(signingBy("system:node:n8", "csr"))
		g.DeleteCertificateSigningRequest("csr")
		g.DeleteNode("n8")
	}
	g.DeletePod("ns", "ending")
}

func churnVolumes(g *Graph) {
	for i := range 60 {
		replace(g, PersistentVolume, g.SetPersistentVolume,
			volumeFor("pvc", "pv", "stage"), volumeFor("pvc", fmt.Sprintf("pv%d", i%3), "stage"))
	}
	replace(g, PersistentVolume, g.SetPersistentVolume, volumeFor("pvc", "pv", "stage"))
}

func watchAnswers(t *testing.T, g *Graph, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if !g.Reaches("n1", Secret, "ns", "shared") || !g.Reaches("n1", PersistentVolume, "", "pv") ||
			!g.Reaches("n1", Secret, "csi", "stage") {
			t.Error("a lasting relation was refused for a moment")
			return
		}
		if g.Relation("n8", Secret, "ns", "shared").Related {
			t.Error("a pod that has ended was given back for a moment")
			return
		}
		if g.Reaches("n9", Secret, "ns", "shared") || g.Reaches("n9", Secret, "csi", "stage") {
			t.Error("a node without pods was allowed for a moment")
			return
		}
	}
}
