// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"cmp"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// State contains the objects in a cluster, and the objects that the watches have shown.
type State struct {
	exists, seen map[Key]Object
	broken       map[graph.Kind]bool
}

// Event is a watch event for one object. Old is nil if the object is new, and New is nil if it is
// deleted.
type Event struct {
	Key      Key
	Old, New Object
}

// NewState returns an empty cluster with working watches.
func NewState() *State {
	return &State{exists: map[Key]Object{}, seen: map[Key]Object{}, broken: map[graph.Kind]bool{}}
}

// Apply applies a step. It returns the watch events. relisted is true if they come from a new list,
// whose content is then in [State.Seen].
func (s *State) Apply(step Step) (events []Event, relisted bool) {
	switch step.action {
	case breakWatch:
		s.broken[step.key.Kind] = true
		return nil, false
	case relist:
		delete(s.broken, step.key.Kind)
		return s.relist(step.key.Kind), true
	case remove:
		delete(s.exists, step.key)
	case set:
		s.exists[step.key] = step.object
	}
	if s.broken[step.key.Kind] {
		return nil, false
	}
	return s.look(step.key, nil), false
}

// look appends the event for a key, if there is one.
func (s *State) look(key Key, events []Event) []Event {
	before, after := s.seen[key], s.exists[key]
	if before == nil && after == nil {
		return events
	}
	if after == nil {
		delete(s.seen, key)
	} else {
		s.seen[key] = after
	}
	return append(events, Event{key, before, after})
}

func (s *State) relist(kind graph.Kind) []Event {
	var events []Event
	for _, key := range s.keys(kind) {
		events = s.look(key, events)
	}
	return events
}

// keys returns the keys of existing and seen objects, in an order that does not depend on map
// iteration.
func (s *State) keys(kind graph.Kind) []Key {
	var keys []Key
	for key := range s.exists {
		if key.Kind == kind {
			keys = append(keys, key)
		}
	}
	for key := range s.seen {
		if _, exists := s.exists[key]; key.Kind == kind && !exists {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// Seen returns the objects of a kind that the watch has shown.
func (s *State) Seen(kind graph.Kind) []Object {
	var objects []Object
	for _, key := range s.keys(kind) {
		if object := s.seen[key]; object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// Broken returns the kind of a broken watch, and whether there is one.
func (s *State) Broken() (kind graph.Kind, is bool) {
	for _, kind := range Kinds() {
		if s.broken[kind] {
			return kind, true
		}
	}
	return 0, false
}
