// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/loadtest"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/subprocess"
)

// webhook is a subject: Bulkhead's program, or this program with the in-tree code.
type webhook struct {
	subject, program string
	env, flags       []string
}

var (
	authorizers = []webhook{
		{"bulkhead", "node-authorizer", []string{"GOMEMLIMIT=1800MiB"}, []string{"--mode=strict"}},
		{"in-tree", os.Args[0], []string{subjectVariable + "=" + upstreamAuthorizer}, nil},
	}
	admissions = []webhook{
		{
			"bulkhead",
			"node-restriction",
			[]string{"GOMEMLIMIT=900MiB"},
			[]string{"--api-audiences=https://benchmark.invalid"},
		},
		{"in-tree", os.Args[0], []string{subjectVariable + "=" + upstreamAdmission}, nil},
	}
)

// controlPlane is started once. Bulkhead's webhooks are built for it.
var controlPlane = sync.OnceValues(func() (*controlplane.ControlPlane, error) {
	size := controlplane.Size{Nodes: max(1, *pods/20), Pods: *pods, Namespaces: min(200, max(1, *pods/20))}
	err := subprocess.Build(
		context.Background(),
		root,
		shared.dir+"/",
		"./components/cmd/node-authorizer",
		"./components/cmd/node-restriction",
	)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	p, err := controlplane.Start(context.Background(), absolute, shared.dir, size)
	if err == nil {
		shared.stops = append(shared.stops, p.Stop)
	}
	return p, err
})

func start(b *testing.B, w webhook) *controlplane.Program {
	b.Helper()
	p, err := controlPlane()
	if err != nil {
		b.Fatal(err)
	}
	path := w.program
	if !filepath.IsAbs(path) {
		path = filepath.Join(shared.dir, path)
	}
	program, err := p.StartProgram(context.Background(), path, w.env, w.flags...)
	if err != nil {
		b.Fatal(err)
	}
	return program
}

// running keeps each webhook running until the end.
var running = map[string]*controlplane.Program{}

func runningWebhook(b *testing.B, w webhook) *controlplane.Program {
	b.Helper()
	key := fmt.Sprint(w)
	if running[key] == nil {
		running[key] = start(b, w)
		shared.stops = append(shared.stops, running[key].Stop)
	}
	return running[key]
}

// BenchmarkSubjectAccessReview sends reviews of nodes that get secrets of their pods.
func BenchmarkSubjectAccessReview(b *testing.B) {
	benchmarkReviews(
		b,
		authorizers,
		func(b *testing.B, address string, size controlplane.Size, files loopback.Files) func(context.Context) error {
			call, err := loopback.SecretCaller(address, files)
			if err != nil {
				b.Fatal(err)
			}
			var next atomic.Int64
			return func(ctx context.Context) error {
				pod := size.Pod(int(next.Add(1)) * 7 % size.Pods)
				return call(ctx, pod.Spec.NodeName, pod.Namespace, pod.Spec.ServiceAccountName+"-credentials")
			}
		},
	)
}

// BenchmarkAdmissionReview sends reviews of a node that sets the status of its own pod to a final
// phase.
func BenchmarkAdmissionReview(b *testing.B) {
	benchmarkReviews(
		b,
		admissions,
		func(b *testing.B, address string, size controlplane.Size, files loopback.Files) func(context.Context) error {
			call, err := loopback.PodStatusCaller(address, files, size.Pod(rand.IntN(size.Pods)))
			if err != nil {
				b.Fatal(err)
			}
			return call
		},
	)
}

type newCall func(*testing.B, string, controlplane.Size, loopback.Files) func(context.Context) error

func benchmarkReviews(b *testing.B, webhooks []webhook, newCall newCall) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			for _, w := range webhooks {
				b.Run("subject="+w.subject, func(b *testing.B) {
					program := runningWebhook(b, w)
					p, _ := controlPlane()
					call := newCall(b, program.Address, p.Size, p.Files)
					if callers == 1 {
						loadtest.OneCaller(b, call)
					} else {
						loadtest.ManyCallers(b, callers, call)
					}
				})
			}
		})
	}
}

// BenchmarkFairShare times the reviews of one node, first without other load, then while another
// node has as many requests in flight as it can.
func BenchmarkFairShare(b *testing.B) {
	for _, w := range authorizers[:1] {
		for _, load := range []string{"none", "another-node"} {
			b.Run("load="+load, func(b *testing.B) {
				program := runningWebhook(b, w)
				p, _ := controlPlane()
				call, err := loopback.SecretCaller(program.Address, p.Files)
				if err != nil {
					b.Fatal(err)
				}
				askAbout := func(ctx context.Context, n int) error {
					pod := p.Size.Pod(n)
					return call(ctx, pod.Spec.NodeName, pod.Namespace, pod.Spec.ServiceAccountName+"-credentials")
				}
				ctx, stop := context.WithCancel(b.Context())
				var group sync.WaitGroup
				for range map[string]int{"another-node": 256}[load] {
					group.Go(func() {
						for ctx.Err() == nil {
							// A review above the limit of one node is denied.
							_ = askAbout(ctx, 0)
						}
					})
				}
				loadtest.OneCaller(b, func(ctx context.Context) error { return askAbout(ctx, 1) })
				stop()
				group.Wait()
			})
		}
	}
}

// BenchmarkStart starts each webhook. It measures the time until ready, and the memory at that
// time.
func BenchmarkStart(b *testing.B) {
	for _, w := range []webhook{authorizers[0], admissions[0]} {
		b.Run("program="+w.program, func(b *testing.B) {
			var ready, peak float64
			for b.Loop() {
				program := start(b, w)
				memory, err := program.Memory()
				program.Stop()
				if err != nil {
					b.Fatal(err)
				}
				ready, peak = ready+program.Ready.Seconds(), max(peak, memory.Peak)
			}
			b.ReportMetric(ready/float64(b.N), "ready-s")
			b.ReportMetric(peak, "peak-rss-MB")
			b.ReportMetric(float64(*pods), "pods")
		})
	}
}
