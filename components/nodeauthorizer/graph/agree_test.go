// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// question is the arguments of one [Graph.Relation] call.
type question struct {
	node   string
	object vertex
}

func (q question) ask(g *Graph) Relation {
	return g.Relation(q.node, q.object.kind, q.object.namespace, q.object.name)
}

// questions cover every node and every object that the dice can create.
func questions() []question {
	var all []question
	for _, kind := range Kinds() {
		for _, namespace := range []string{"", "ns1", "ns2"} {
			for _, name := range []string{"a", "b", "c", "a-b", "b-b"} {
				for _, node := range []string{"n1", "n2", "n3", ""} {
					all = append(all, question{node, vertex{kind, identity{namespace, name}}})
				}
			}
		}
	}
	return all
}

// agrees compares all answers of the graph with a search for paths in the world.
func agrees(t *testing.T, w *world, options Options, g *Graph) bool {
	if options.kept() == 0 {
		if diff := gocmp.Diff(w.stats(), g.Stats()); diff != "" {
			t.Errorf("Stats (-of what exists +of the graph):\n%s", diff)
			return false
		}
	}
	all := w.edges()
	for _, q := range questions() {
		want := Relation{Registered: w.nodes[q.node]}
		if q.node != "" {
			want.Related, want.Condition = options.expect(q.object.kind, all.paths(q.object, nodeVertex(q.node)))
		}
		if got := q.ask(g); got != want {
			t.Errorf("%+v: Relation of %+v = %+v, want %+v", options, q, got, want)
			return false
		}
	}
	return true
}

// expect returns the expected relation for these paths from an object of that kind.
func (o Options) expect(kind Kind, paths [][]Condition) (related bool, why Condition) {
	var refused, reported []Condition
	for _, path := range paths {
		enforced, audited := o.weigh(kind, path, rules.Enforce), o.weigh(kind, path, rules.Audit)
		switch {
		case len(enforced) > 0:
			refused = append(refused, slices.Min(enforced))
		case len(audited) > 0:
			reported = append(reported, slices.Min(audited))
		default:
			return true, Unconditional
		}
	}
	switch {
	case len(reported) > 0:
		return true, slices.Min(reported)
	case len(refused) > 0:
		return false, slices.Min(refused)
	}
	return false, Unconditional
}

// weigh returns the conditions of a path that have that mode and apply to the kind. Volumes and
// their claims stay readable after the pod has ended.
func (o Options) weigh(kind Kind, path []Condition, mode rules.Mode) []Condition {
	var picked []Condition
	for _, condition := range path {
		switch condition {
		case Ended:
			if o.Ended == mode && kind != PersistentVolume && kind != PersistentVolumeClaim {
				picked = append(picked, condition)
			}
		case Unusable:
			if o.Unusable == mode && !o.CredentialProviders {
				picked = append(picked, condition)
			}
		case Unowned:
			if o.Unowned == mode {
				picked = append(picked, condition)
			}
		}
	}
	return picked
}

// auditForetellsEnforce compares the graphs of different modes with each other, without the world.
// Everything that enforce allows is allowed by off. Audit changes no answer. Audit reports exactly
// what enforcement of the audited rules would refuse.
func auditForetellsEnforce(t *testing.T, graphs told) bool {
	for options, g := range graphs {
		off, enforced := graphs[options.with(rules.Audit, rules.Off)], graphs[options.with(rules.Audit, rules.Enforce)]
		lax := graphs[Options{CredentialProviders: options.CredentialProviders}]
		for _, q := range questions() {
			got, refuses := q.ask(g), !q.ask(enforced).Related
			switch {
			case got.Related && !q.ask(lax).Related:
				t.Errorf("%+v: %+v is related, but not where all is off", options, q)
			case got.Related != q.ask(off).Related:
				t.Errorf("%+v: %+v is related: %v, but not where what is audited is off", options, q, got.Related)
			case got.Related && (got.Condition != Unconditional) != refuses:
				t.Errorf("%+v: %+v = %+v, but enforcing what is audited refuses: %v", options, q, got, refuses)
			case !got.Related && (got.Condition != Unconditional) != q.ask(lax).Related:
				t.Errorf("%+v: %+v = %+v, but where all is off it is related: %v", options, q, got, q.ask(lax).Related)
			default:
				continue
			}
			return false
		}
	}
	return true
}

// with replaces every mode one with other.
func (o Options) with(one, other rules.Mode) Options {
	for _, mode := range []*rules.Mode{&o.Ended, &o.Unusable, &o.Unowned} {
		if *mode == one {
			*mode = other
		}
	}
	return o
}
