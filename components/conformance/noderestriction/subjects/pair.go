// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/kubernetes/plugin/pkg/admission/noderestriction"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// Pair has both subjects. They see the same cluster.
type Pair struct {
	objects      *objects
	features     noderestriction.Features
	apiAudiences []string
	plugin       *upstream.Plugin
	bulkhead     *noderestriction.Restriction
}

// NewPair creates both subjects with the default feature gates, except for those in set.
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

// Show gives both subjects another cluster.
func (p *Pair) Show(w *generator.Cluster) error {
	p.apiAudiences = w.APIAudiences
	p.bulkhead = noderestriction.New(p.config(newCluster(p.objects)))
	return p.objects.set(w)
}

func (p *Pair) config(c noderestriction.Cluster) noderestriction.Config {
	return noderestriction.Config{Cluster: c, Authorizer: p.objects, Features: p.features, APIAudiences: p.apiAudiences}
}

// Bulkhead returns the answer of node-restriction, without optional rules and without
// configuration.
func (p *Pair) Bulkhead(ctx context.Context, a admission.Attributes) Answer {
	d := p.bulkhead.Review(ctx, a)
	if d.Allowed() {
		return Answer{}
	}
	answer := answerOf(&apierrors.StatusError{ErrStatus: *d.Status})
	answer.Rule = d.Rule
	return answer
}
