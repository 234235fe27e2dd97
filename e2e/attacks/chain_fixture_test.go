// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// chainStep is one step of an attack with several.
type chainStep struct {
	what string
	// stoppedBy denies the step in the profile hardened. If it is empty, the step is allowed there.
	stoppedBy rules.ID
	// needs is true for a step that is impossible if the step before was denied.
	needs bool
	act   func(context.Context, *Run) Answer
	// effect proves what the attacker has after the step. It may be nil.
	effect func(context.Context, *Run, Answer)
}

// chains are the names of the chains by their IDs, for docs/attacks.md.
var chains = map[string]string{}

// chain makes the spec of an attack with several steps. In in-tree every step must succeed. In
// hardened, every step that a rule denies is tried, also after the first denial: the chain has no
// other way around it. The first denial is by the rule in first. At the end, [Run.Pod], the operator's
// pod, must be the same as before.
func chain(id, name string, first rules.ID, prepare func(context.Context, *Run),
	steps func(context.Context, *Run) []chainStep) bool {
	chains[id] = name
	labels := Label("chain", OnHost, OnWorker, Slow)
	return It("Chain: "+name, Attack(id), DeniesBeyond(first, Behind), labels, func(ctx SpecContext) {
		profile := suite.Settings.Profile
		if profile != Hardened && profile != InTree {
			Skip("the chains need the profile hardened or in-tree")
		}
		r := &Run{Env: suite.Env(), Protected: profile == Hardened, Names: map[string]string{}}
		if r.Protected {
			skipWithoutNodeScope(ctx)
		}
		narrate("\n%s %s\n── With the profile %s\n", id, name, profile)
		prepare(ctx, r)
		before, stopped := r.Pod, rules.ID("")
		for i, step := range steps(ctx, r) {
			r.Say("Step %d: %s.", i+1, step.what)
			switch {
			case r.Protected && stopped != "" && step.needs:
				r.Say("Impossible: it needs a step that was denied.")
			case r.Protected && step.stoppedBy != "":
				step.denied(ctx, r)
				if stopped == "" {
					stopped = step.stoppedBy
				}
			default:
				step.succeeds(ctx, r)
			}
		}
		if r.Protected {
			Expect(stopped).To(Equal(first), "the label of the spec names the rule of the first denied step")
			after := must(r.Client.CoreV1().Pods(before.Namespace).Get(ctx, before.Name, metav1.GetOptions{}))
			Expect(after.UID).To(Equal(before.UID))
			Expect(after.DeletionTimestamp).To(BeNil())
			r.Say("The operator's pod still runs on %s. The attacker has no token of it.", after.Spec.NodeName)
		}
	})
}

func (s chainStep) succeeds(ctx context.Context, r *Run) {
	GinkgoHelper()
	var answer Answer
	suite.ExpectAdmitted(ctx, func() Answer {
		answer = s.act(ctx, r)
		return answer
	})
	if s.effect != nil {
		s.effect(ctx, r, answer)
	}
}

func (s chainStep) denied(ctx context.Context, r *Run) {
	GinkgoHelper()
	begun := time.Now()
	var answer Answer
	// This records the denied request for the report. Without it, the report has only the steps that succeed.
	suite.ExpectRefusal(ctx, func() Answer {
		answer = s.act(ctx, r)
		return answer
	}, Refusal{By: s.stoppedBy})
	expectAuditedRefusal(ctx, r, &Identity{User: answer.User}, begun, "["+string(s.stoppedBy)+"]")
	r.Say("The profile hardened stops this step: %s.", s.stoppedBy)
}
