// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// everyNode lists the possible states of a node before an installation.
var everyNode = []struct {
	name    string
	prepare func(*testing.T, *testNode)
}{
	{"node without Bulkhead", func(*testing.T, *testNode) {}},
	{"node whose kubelet configuration changed since", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		data := read(t, n.config)
		n.config += ".new"
		must(t, os.WriteFile(n.config, data, 0o600))
		must(t, os.WriteFile(n.layout.KubeletUnit(), []byte(strings.ReplaceAll(n.unit, "config.yaml", "config.yaml.new")),
			0o644))
		must(t, os.WriteFile(n.layout.KubeletDropIn(), []byte(strings.ReplaceAll(n.dropIn, "readOnlyPort: 0\n", "")), 0o600))
		_, err := n.Systemctl(t.Context(), "daemon-reload")
		must(t, err)
		n.start()
	}},
	{"node that allows loopback clients, and whose drop-in was changed", func(t *testing.T, n *testNode) {
		n.newClusterCA("cluster")
		must(t, n.installer().Install(t.Context(), withClients(LoopbackAllow)))
		must(t, os.WriteFile(n.layout.KubeletDropIn(), []byte(n.dropIn+"# changed\n"), 0o600))
		n.start()
	}},
}

func (n *testNode) begin() *plan {
	n.t.Helper()
	return n.beginWith(kubeletOptions)
}

func (n *testNode) beginWith(o Options) *plan {
	n.t.Helper()
	p, err := n.installer().newPlan(n.t.Context(), o)
	must(n.t, err)
	p.journal, err = journal.Begin(n.layout.NodeJournal(), "test")
	must(n.t, err)
	return p
}

const nodeStepCount = 6

func TestNodeInstallThatEndsEarlyIsRolledBack(t *testing.T) {
	for _, start := range everyNode {
		for i := range nodeStepCount {
			for _, end := range installtest.Ends {
				onNode(t, fmt.Sprintf("%s, step %d %s: rolled back", start.name, i+1, end.Name), func(t *testing.T, n *testNode) {
					start.prepare(t, n)
					before := n.snapshot()
					p := n.begin()
					steps := p.steps()
					if len(steps) != nodeStepCount {
						t.Fatalf("%d steps", len(steps))
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					steps[i] = end.Step(steps[i], cancel)
					_, err := p.transaction(p.Timeout).Apply(ctx, p.journal, steps)
					if !errors.Is(err, end.Cause) {
						t.Errorf("error is %v, want one with %v", err, end.Cause)
					}
					mentions(t, err, "rolled back: nothing has been changed")
					n.mustBe(before)
				})
			}
		}
	}
}

func TestNextNodeRunRecoversFromAKilledRun(t *testing.T) {
	for _, start := range everyNode {
		for i := range nodeStepCount {
			onNode(t, fmt.Sprintf("%s, killed after step %d", start.name, i+1), func(t *testing.T, n *testNode) {
				start.prepare(t, n)
				before := n.snapshot()
				p := n.begin()
				for _, s := range p.steps()[:i+1] {
					_, err := p.Run(t.Context(), s)
					must(t, err)
				}
				must(t, n.installer().transaction(time.Minute).Recover(t.Context()))
				n.mustBe(before)
				must(t, n.installer().Install(t.Context(), kubeletOptions))
			})
		}
	}
}

// A journal that was not written completely changes nothing. The advice in the message works after every
// step of the interrupted run.
func TestNodeUninstallWithoutATruncatedJournal(t *testing.T) {
	for i := range nodeStepCount {
		onNode(t, fmt.Sprintf("killed after step %d", i+1), func(t *testing.T, n *testNode) {
			before := n.snapshot()
			p := n.begin()
			for _, s := range p.steps()[:i+1] {
				_, err := p.Run(t.Context(), s)
				must(t, err)
			}
			index := filepath.Join(n.layout.NodeJournal(), "journal.json")
			must(t, os.WriteFile(index, read(t, index)[:20], 0o600))
			for _, err := range []error{
				n.installer().Install(t.Context(), kubeletOptions), n.installer().Uninstall(t.Context(), time.Minute),
			} {
				mentions(t, err, "Move the directory "+n.layout.NodeJournal()+" away, then run `bulkhead node uninstall`")
			}
			must(t, os.Rename(n.layout.NodeJournal(), filepath.Join(t.TempDir(), "journal")))
			must(t, n.installer().Uninstall(t.Context(), time.Minute))
			n.mustBe(before)
		})
	}
}

// nodeUninstallStepCount is the number of steps of an uninstallation.
const nodeUninstallStepCount = 3

func TestNodeUninstallThatEndsEarlyIsCompletedByTheNext(t *testing.T) {
	for i := range nodeUninstallStepCount {
		for _, end := range installtest.Ends {
			onNode(t, fmt.Sprintf("step %d %s: the next node uninstall restores the node", i+1, end.Name),
				func(t *testing.T, n *testNode) {
					before := n.snapshot()
					must(t, n.installer().Install(t.Context(), kubeletOptions))
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					k := n.installer()
					steps := k.uninstallSteps(time.Minute)
					if len(steps) != nodeUninstallStepCount {
						t.Fatalf("%d steps", len(steps))
					}
					steps[i] = end.Step(steps[i], cancel)
					_, err := k.RunAll(ctx, steps)
					// After the last step, nothing is left to interrupt.
					complete := err == nil && i == nodeUninstallStepCount-1 && errors.Is(end.Cause, context.Canceled)
					if !complete && !errors.Is(err, end.Cause) {
						t.Errorf("error is %v, want one with %v", err, end.Cause)
					}
					if !n.running {
						t.Error("the kubelet does not run")
					}
					must(t, n.installer().Uninstall(t.Context(), time.Minute))
					n.mustBe(before)
				})
		}
	}
}

func TestAnUninstallThatWasKilledIsRepeated(t *testing.T) {
	for i := range nodeUninstallStepCount {
		onNode(t, fmt.Sprintf("after step %d", i+1), func(t *testing.T, n *testNode) {
			before := n.snapshot()
			must(t, n.installer().Install(t.Context(), kubeletOptions))
			p := n.installer()
			for _, s := range p.uninstallSteps(time.Minute)[:i+1] {
				_, err := p.Run(t.Context(), s)
				must(t, err)
			}
			must(t, n.installer().Uninstall(t.Context(), time.Minute))
			n.mustBe(before)
		})
	}
}
