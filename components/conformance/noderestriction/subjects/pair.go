// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/kubernetes/plugin/pkg/admission/noderestriction"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/world"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Pair is both sides, which look at the same world.
type Pair struct {
	objects      *objects
	features     noderestriction.Features
	apiAudiences []string
	plugin       *upstream.Plugin
	ours         *noderestriction.Restriction
}

// NewPair makes both sides with the defaults of the feature gates, but for those
// that are set.
func NewPair(set map[string]bool) (*Pair, error) {
	p := &Pair{objects: newObjects(), features: noderestriction.DefaultFeatures()}
	byGate := p.features.ByGate()
	for gate, on := range set {
		if byGate[gate] == nil {
			return nil, fmt.Errorf("there is no gate %q", gate)
		}
		*byGate[gate] = on
	}
	var err error
	p.plugin, err = newUpstream(p.objects, set)
	return p, err
}

// Show has both sides look at another world.
func (p *Pair) Show(w *world.World) error {
	p.apiAudiences = w.APIAudiences
	p.ours = noderestriction.New(p.config(newCluster(p.objects)))
	return p.objects.set(w)
}

func (p *Pair) config(c noderestriction.Cluster) noderestriction.Config {
	return noderestriction.Config{Cluster: c, Authorizer: p.objects, Features: p.features, APIAudiences: p.apiAudiences}
}

// Ours answers with our policy, without optional rules and without configuration.
func (p *Pair) Ours(ctx context.Context, a admission.Attributes) Answer {
	verdict := p.ours.Review(ctx, a)
	if verdict.Admitted() {
		return Answer{}
	}
	answer := answerOf(verdict.Refusal)
	answer.Rule = verdict.Rule
	return answer
}

// Restriction is our policy itself, which looks at the world that was shown last.
func (p *Pair) Restriction() *noderestriction.Restriction { return p.ours }

// Hardened is our policy with all optional rules enforced. Where only these ask, no
// object but pods is known, and nothing is counted.
func (p *Pair) Hardened() *noderestriction.Restriction {
	config := p.config(answering{newCluster(p.objects)})
	config.Modes = noderestriction.Modes(rules.Enforce)
	return noderestriction.New(config)
}

// Admit is upstream's error itself.
func (p *Pair) Admit(ctx context.Context, a admission.Attributes) error {
	return p.plugin.Admit(ctx, a, nil)
}

// Lookups repeats what our policy looks up to answer, and nothing else.
func (p *Pair) Lookups(ctx context.Context, a admission.Attributes) func() bool {
	var all []func()
	c := newCluster(p.objects)
	noderestriction.New(p.config(recorder{c, &all})).Review(ctx, a)
	return func() bool {
		for _, lookUp := range all {
			lookUp()
		}
		return true
	}
}
