// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const (
	writeBar = 1.0 / 3
	// writers is the parallelism of upstream's BenchmarkWriteIndexMaintenance.
	writers = 100
	// deletions is how many pods are deleted at a time.
	deletions = 1000
)

const writesText = `Upstream's BenchmarkWriteIndexMaintenance: 5,000 nodes with one pod each in one namespace, so that 5,000 pods share a secret. A pod is
written again as it was, by 100 goroutines for each core; written with another secret each time; and deleted.`

// Writes measures single writes to a graph with an object that 5,000 nodes share.
func Writes(ctx context.Context, plan Plan) (report.Section, error) {
	section := report.Section{Title: "One pod", Text: writesText}
	plan.Say("writing and deleting one pod")
	world := NewWorld(OneNamespace)
	t := newTrio(world)
	for _, write := range []struct {
		what string
		time func(Plan, Side, []*corev1.Pod) float64
	}{
		{"one pod written again", writeAgain},
		{"one pod changed", change},
		{"one pod deleted", remove},
	} {
		var took [3]report.Sample
		for run := range plan.Runs {
			for next := range 3 {
				if ctx.Err() != nil {
					return section, ctx.Err()
				}
				s := (run + next) % 3
				took[s] = append(took[s], write.time(plan, t.all()[s], world.Pods))
			}
		}
		for s := range 2 {
			row := report.FromComparison(write.what+", "+sideNames[s], writeBar, report.Comparison{Ours: took[s], Theirs: took[2]})
			row.Note = fmt.Sprintf("%.0f ns, in-tree %.0f ns", took[s].Median(), took[2].Median())
			section.Rows = append(section.Rows, row)
			if !row.Missed() {
				continue
			}
			profile, err := report.CPUProfile(row.What, func() { write.time(plan, t.all()[s], world.Pods) })
			if err != nil {
				return section, err
			}
			section.Profiles = append(section.Profiles, profile)
		}
	}
	return section, nil
}

func writeAgain(plan Plan, side Side, pods []*corev1.Pod) float64 {
	return plan.timePerOperation(plan.workers(writers), func() { side.SetPod(pods[0]) })
}

func change(plan Plan, side Side, pods []*corev1.Pod) float64 {
	versions := [2]*corev1.Pod{pods[0], pods[0].DeepCopy()}
	versions[1].Spec.Volumes[0].Secret.SecretName = "another"
	var i atomic.Uint32
	took := plan.timePerOperation(1, func() { side.SetPod(versions[i.Add(1)%2]) })
	side.SetPod(versions[0])
	return took
}

// remove deletes a thousand pods and puts them back, and counts the deletions only.
func remove(plan Plan, side Side, pods []*corev1.Pod) float64 {
	var took time.Duration
	n := 0
	for took < plan.Turn {
		start := plan.now()
		for _, pod := range pods[:deletions] {
			side.DeletePod(pod.Namespace, pod.Name)
		}
		took += plan.now() - start
		n += deletions
		for _, pod := range pods[:deletions] {
			side.SetPod(pod)
		}
	}
	return float64(took.Nanoseconds()) / float64(n)
}
