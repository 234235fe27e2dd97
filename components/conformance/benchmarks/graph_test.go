// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// graphs are the graphs of the two authorizers.
var graphs = []struct {
	subject string
	empty   func() filler
}{
	{"bulkhead", func() filler {
		g := graph.New(graph.Options{Ended: rules.Enforce, Unusable: rules.Enforce, Unowned: rules.Enforce})
		return filler{g, g.SetPod, g.SetPersistentVolume, g.SetVolumeAttachment}
	}},
	{"in-tree", func() filler {
		g := node.NewGraph()
		return filler{
			g,
			g.AddPod,
			g.AddPV,
			func(a *storagev1.VolumeAttachment) { g.AddVolumeAttachment(a.Name, a.Spec.NodeName) },
		}
	}},
}

// filler adds objects to a graph with the graph's own methods.
type filler struct {
	graph      any
	pod        func(*corev1.Pod)
	volume     func(*corev1.PersistentVolume)
	attachment func(*storagev1.VolumeAttachment)
}

// BenchmarkGraph measures the heap that the graph of a cluster uses.
func BenchmarkGraph(b *testing.B) {
	size := controlplane.Size{Nodes: max(1, *pods/20), Pods: *pods, Namespaces: min(200, max(1, *pods/20))}
	for _, g := range graphs {
		b.Run("subject="+g.subject, func(b *testing.B) {
			var heap float64
			for b.Loop() {
				before := heapInUse()
				f := g.empty()
				for i := range size.Pods {
					f.pod(size.Pod(i))
					if size.HasVolume(i) {
						f.volume(size.Volume(i))
						f.attachment(size.Attachment(i))
					}
				}
				heap = heapInUse() - before
				runtime.KeepAlive(f.graph)
			}
			b.ReportMetric(heap/1e6, "heap-MB")
			b.ReportMetric(float64(size.Pods), "pods")
		})
	}
}

func heapInUse() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
