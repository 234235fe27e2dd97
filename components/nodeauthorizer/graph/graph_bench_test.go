// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// benchWorld has the shape of the clusters in upstream's node_authorizer_test.go. Each pod refers
// to its own secret, config map and claim, and to one secret that its namespace shares. Each claim
// has a volume with a secret.
type benchWorld struct {
	pods        []*corev1.Pod
	volumes     []*corev1.PersistentVolume
	attachments []*storagev1.VolumeAttachment
}

func newBenchWorld(nodes, podsPerNode, namespaces int) *benchWorld {
	world := &benchWorld{}
	for n := range nodes {
		node := fmt.Sprintf("node%d", n)
		for p := range podsPerNode {
			world.addPod(node, p, p%namespaces)
		}
		for a := range 20 {
			attachment := &storagev1.VolumeAttachment{}
			attachment.Name = fmt.Sprintf("attachment%d-%s", a, node)
			attachment.Spec.NodeName = node
			world.attachments = append(world.attachments, attachment)
		}
	}
	return world
}

func (w *benchWorld) addPod(node string, number, namespace int) {
	pod := &corev1.Pod{}
	pod.Name = fmt.Sprintf("pod%d-%s", number, node)
	pod.Namespace = fmt.Sprintf("ns%d", namespace)
	pod.Spec.NodeName = node
	pod.Spec.ServiceAccountName = fmt.Sprintf("svcacct%d-%s", number, node)
	claim := "pvc0-" + pod.Name
	pod.Spec.Volumes = []corev1.Volume{
		secretVolume("secret0-" + pod.Name),
		secretVolume("secret0-shared"),
		configMapVolume("configmap0-" + pod.Name),
		claimVolume(claim),
	}
	volume := &corev1.PersistentVolume{}
	volume.Name = fmt.Sprintf("pv0-%s-%s", pod.Name, pod.Namespace)
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pod.Namespace, Name: claim}
	volume.Spec.FlexVolume = &corev1.FlexPersistentVolumeSource{
		SecretRef: &corev1.SecretReference{Name: "secret-" + volume.Name},
	}
	w.pods = append(w.pods, pod)
	w.volumes = append(w.volumes, volume)
}

// enforced enforces every optional rule.
var enforced = Options{Ended: rules.Enforce, Unusable: rules.Enforce, Unowned: rules.Enforce}

func (w *benchWorld) populate(options Options) *Graph {
	g := New(options)
	for _, pod := range w.pods {
		g.SetPod(pod)
	}
	for _, volume := range w.volumes {
		g.SetPersistentVolume(volume)
	}
	for _, attachment := range w.attachments {
		g.SetVolumeAttachment(attachment)
	}
	return g
}

// BenchmarkPopulation builds the cluster of upstream's BenchmarkPopulation: 100,000 pods and
// volumes. retained-MB is the heap that the graph alone keeps in use.
func BenchmarkPopulation(b *testing.B) {
	world := newBenchWorld(500, 200, 200)
	for _, options := range []Options{{}, enforced} {
		b.Run("one by one, "+options.Ended.String(), func(b *testing.B) {
			b.ReportAllocs()
			before := heapInUse()
			for b.Loop() {
				g := world.populate(options)
				b.StopTimer()
				b.ReportMetric(float64(heapInUse()-before)/1e6, "retained-MB")
				runtime.KeepAlive(g)
				b.StartTimer()
			}
		})
	}
	b.Run("as lists", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g := New(Options{})
			replace(g, Pod, g.SetPod, world.pods...)
			replace(g, PersistentVolume, g.SetPersistentVolume, world.volumes...)
			replace(g, VolumeAttachment, g.SetVolumeAttachment, world.attachments...)
		}
	})
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkWrite sets one pod in a namespace with a secret that 5,000 nodes share.
func BenchmarkWrite(b *testing.B) {
	world := newBenchWorld(5000, 1, 1)
	g := world.populate(Options{})
	pod := world.pods[0]
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.SetPod(pod)
		}
	})
	b.Run("unchanged, in parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(100)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				g.SetPod(pod)
			}
		})
	})
	b.Run("deleted and set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.DeletePod(pod.Namespace, pod.Name)
			g.SetPod(pod)
		}
	})
}

// BenchmarkEnforced queries and writes with every rule enforced and every tenth pod ended. So an
// object can be stored under several flags.
func BenchmarkEnforced(b *testing.B) {
	world := newBenchWorld(500, 200, 200)
	g := world.populate(enforced)
	for i, pod := range world.pods {
		if i%10 == 5 {
			g.EndPod(pod.Namespace, pod.Name, pod.UID)
		}
	}
	benchmarkQuestions(b, g)
	b.Run("a pod ends", func(b *testing.B) {
		b.ReportAllocs()
		pod := world.pods[0]
		for b.Loop() {
			g.EndPod(pod.Namespace, pod.Name, pod.UID)
			g.DeletePod(pod.Namespace, pod.Name)
			g.SetPod(pod)
		}
	})
}

// BenchmarkReaches queries the cluster of upstream's BenchmarkAuthorization, first without writes,
// then with about a hundred writes a second.
func BenchmarkReaches(b *testing.B) {
	world := newBenchWorld(500, 200, 200)
	g := world.populate(Options{})
	for _, contended := range []bool{false, true} {
		name := "idle"
		if contended {
			name = "contended"
		}
		b.Run(name, func(b *testing.B) {
			if contended {
				stop := keepWriting(g, world.pods)
				defer stop()
			}
			benchmarkQuestions(b, g)
		})
	}
}

func benchmarkQuestions(b *testing.B, g *Graph) {
	for _, q := range []struct {
		name  string
		kind  Kind
		ns    string
		asked string
		want  bool
	}{
		{"allowed configmap", ConfigMap, "ns0", "configmap0-pod0-node0", true},
		{"allowed secret via pod", Secret, "ns0", "secret0-pod0-node0", true},
		{"allowed secret via volume", Secret, "ns0", "secret-pv0-pod0-node0-ns0", true},
		{"allowed shared secret", Secret, "ns0", "secret0-shared", true},
		{"allowed volume", PersistentVolume, "", "pv0-pod0-node0-ns0", true},
		{"allowed token", ServiceAccountToken, "ns0", "svcacct0-node0", true},
		{"refused configmap", ConfigMap, "ns0", "configmap0-pod0-node1", false},
		{"refused secret via volume", Secret, "ns0", "secret-pv0-pod0-node1-ns0", false},
		{"refused volume", PersistentVolume, "", "pv0-pod0-node1-ns0", false},
		{"refused attachment", VolumeAttachment, "", "attachment0-node1", false},
		{"refused unknown", Secret, "ns0", "no-such-secret", false},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if g.Reaches("node0", q.kind, q.ns, q.asked) != q.want {
						b.Error("wrong answer")
					}
				}
			})
		})
	}
}

// keepWriting deletes and sets pods of another node until stop is called.
func keepWriting(g *Graph, pods []*corev1.Pod) (stop func()) {
	var stopped atomic.Bool
	done := make(chan struct{})
	ticker := time.NewTicker(10 * time.Millisecond)
	go func() {
		defer close(done)
		for i := 0; !stopped.Load(); i++ {
			<-ticker.C
			pod := pods[len(pods)-1-i%200]
			g.DeletePod(pod.Namespace, pod.Name)
			g.SetPod(pod)
		}
	}()
	return func() {
		stopped.Store(true)
		<-done
		ticker.Stop()
	}
}
