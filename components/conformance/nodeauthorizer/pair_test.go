// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// pair has both authorizers. They decide about the same cluster.
type pair struct {
	upstream       upstream
	graph          *graph.Graph
	compat, strict *nodeauthorizer.Authorizer
	state          *generator.State
	// api contains each object as the watches last showed it.
	api     map[generator.Key]metav1.Object
	history history
	// upToDate and stale are created on demand, and dropped after a step.
	upToDate, stale *upstream
}

func newPair() *pair {
	p := &pair{
		upstream: newUpstream(),
		graph:    graph.New(graph.Options{}),
		state:    generator.NewState(),
		api:      map[generator.Key]metav1.Object{},
		history:  newHistory(),
	}
	p.compat, p.strict = newBulkhead(p.graph)
	return p
}

// apply applies a step, and delivers the watch events to both subjects.
func (p *pair) apply(step generator.Step) {
	events, relisted := p.state.Apply(step)
	for _, event := range events {
		before, after := p.advance(event)
		p.upstream.tell(event, before, after, relisted)
		p.history.add(event)
	}
	if relisted {
		replaceBulkhead(p.graph, step.Kind(), p.state.Seen(step.Kind()))
	} else {
		p.tellBulkhead(events)
	}
	if len(events) > 0 {
		p.upToDate, p.stale = nil, nil
	}
}

// advance returns the API objects before and after an event. nil means that there is none.
func (p *pair) advance(event generator.Event) (before, after any) {
	if known, ok := p.api[event.Key]; ok {
		before = known
	}
	if event.New == nil {
		delete(p.api, event.Key)
		return before, nil
	}
	made := event.New.API()
	p.api[event.Key] = made
	return before, made
}

func (p *pair) tellBulkhead(events []generator.Event) {
	for _, event := range events {
		if event.New == nil {
			deleteBulkhead(p.graph, event.Key)
		} else {
			setBulkhead(p.graph, p.api[event.Key])
		}
	}
}

// upstreamUpToDate returns a new upstream with the objects that the watches show now, without
// earlier events.
func (p *pair) upstreamUpToDate() upstream {
	if p.upToDate == nil {
		u := newUpstream()
		for _, kind := range generator.Kinds() {
			for _, object := range p.state.Seen(kind) {
				u.tell(generator.Event{Key: object.Key()}, nil, object.API(), false)
			}
		}
		p.upToDate = &u
	}
	return *p.upToDate
}

// upstreamStale returns a new upstream with the objects as upstream's event handlers last processed
// them: without the updates that they ignore. It has no earlier events either.
func (p *pair) upstreamStale() upstream {
	if p.stale == nil {
		u := newUpstream()
		for key, object := range p.history.taken {
			u.tell(generator.Event{Key: key}, nil, object.API(), false)
		}
		p.stale = &u
	}
	return *p.stale
}
