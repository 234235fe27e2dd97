// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Timed is what one case took on each side.
type Timed struct {
	Case
	// Writing is true while about a hundred writes a second changed the graph.
	Writing bool
	// Nanoseconds per decision, in the order of the sides.
	Nanoseconds [3][]float64
	// Allocations per decision, in the order of the sides.
	Allocations [3]float64
	// again decides in the profile ours or theirs.
	again [3]func()
}

// decisions times every case on every side, turn by turn.
func (t trio) decisions(ctx context.Context, plan Plan, cases []Case, writing bool) ([]Timed, error) {
	if err := t.check(cases); err != nil {
		return nil, err
	}
	results := make([]Timed, len(cases))
	for i, c := range cases {
		results[i] = Timed{Case: c, Writing: writing}
		for s, side := range t.all() {
			results[i].again[s] = decide(side, c.Attributes)
			results[i].Allocations[s] = allocations(results[i].again[s])
		}
	}
	for run := range plan.Runs {
		for i := range results {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			t.turn(plan, run, &results[i])
		}
	}
	return results, nil
}

// turn lets each side decide for a while; who begins changes with every run.
func (t trio) turn(plan Plan, run int, timed *Timed) {
	for next := range 3 {
		s := (run + next) % 3
		stop := func() {}
		if timed.Writing {
			stop = keepWriting(t.all()[s])
		}
		took := plan.timePerOperation(plan.workers(timed.Parallelism), timed.again[s])
		stop()
		timed.Nanoseconds[s] = append(timed.Nanoseconds[s], took)
	}
}

// decide asks once. The attributes are a pointer, as those of kube-apiserver are,
// so that to pass them on costs nobody an allocation.
func decide(side Side, attributes *authorizer.AttributesRecord) func() {
	ctx := context.Background()
	return func() { _, _, _ = side.Authorize(ctx, attributes) }
}

// keepWriting changes a pod of node0 a hundred times a second. Upstream's
// benchmark sets one pod again and again; here it gets another secret each time,
// since a side that notices that nothing has changed would write nothing.
func keepWriting(side Side) (stop func()) {
	versions := [2]*corev1.Pod{changedPod("secret-a"), changedPod("secret-b")}
	var stopped atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; !stopped.Load(); i++ {
			side.SetPod(versions[i%2])
			<-ticker.C
		}
	})
	return func() {
		stopped.Store(true)
		group.Wait()
		side.DeletePod(versions[0].Namespace, versions[0].Name)
	}
}

func changedPod(secret string) *corev1.Pod {
	pod := barePod("testwrite", "ns0", "node0")
	pod.Spec.Volumes = []corev1.Volume{
		secretVolume(secret), secretVolume("secret0-shared"), configMapVolume("configmap0-testwrite"),
	}
	return pod
}

func (t Timed) name() string {
	if t.Writing {
		return fmt.Sprintf("%s, with 100 writes/s", t.Name)
	}
	return t.Name
}
