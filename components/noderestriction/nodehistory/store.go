// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// taker receives the objects of one resource. Its methods are called one at a time.
type taker interface {
	set(object any) error
	remove(name string)
	replace(objects []any) error
}

// nodeStore receives Nodes.
type nodeStore struct{ *Store }

func (s nodeStore) set(object any) error {
	full, ok := object.(*corev1.Node)
	if !ok {
		return fmt.Errorf("%T is not a Node", object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.records[full.Name]
	s.nodes.set(full, func(taint corev1.Taint) bool {
		return hasKind(known.taints, taint) || hasKind(known.absent, taint) || s.sticky.Names(taint.Key)
	})
	s.observe(klog.Background(), full.Name)
	return nil
}

func (s nodeStore) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes.remove(name)
}

func (s nodeStore) replace(objects []any) error {
	listed := make(map[string]bool, len(objects))
	for _, object := range objects {
		if err := s.set(object); err != nil {
			return err
		}
		if full, ok := object.(*corev1.Node); ok {
			listed[full.Name] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.nodes.byName {
		if !listed[name] {
			s.nodes.remove(name)
		}
	}
	return nil
}

// recordStore receives the ConfigMap.
type recordStore struct{ *Store }

func (s recordStore) set(object any) error {
	stored, ok := object.(*corev1.ConfigMap)
	if !ok {
		return fmt.Errorf("%T is not a ConfigMap", object)
	}
	if stored.Name != Name {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(stored)
	s.readNow()
	return nil
}

// remove schedules all records to be stored again. Deleting the ConfigMap does not clear records.
func (s recordStore) remove(name string) {
	if name != Name {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost()
}

func (s recordStore) replace(objects []any) error {
	found := false
	for _, object := range objects {
		if err := s.set(object); err != nil {
			return err
		}
		if stored, ok := object.(*corev1.ConfigMap); ok && stored.Name == Name {
			found = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !found {
		s.lost()
	}
	return nil
}

// readNow checks all Nodes after the stored records were read for the first time.
func (s recordStore) readNow() {
	if s.isRead {
		return
	}
	s.isRead = true
	for name := range s.nodes.byName {
		s.observe(klog.Background(), name)
	}
}

// lost schedules all known records to be stored again when the ConfigMap exists.
func (m *Store) lost() {
	m.bytes, m.missing = 0, true
	m.storeAgain()
}

// storeAgain does not store what cannot be parsed: a readable record in its place is better.
func (m *Store) storeAgain() {
	for name, r := range m.records {
		if _, waits := m.waiting[name]; !waits && !r.unreadable {
			m.waiting[name] = waiting{version: r.version}
		}
	}
	m.wakeUp()
}

// take updates the records from the ConfigMap, unless a newer version was read before. It keeps a
// waiting record, unless the stored one was made from a newer Node. A new ConfigMap does not remove
// the records of the deleted one, also not those that cannot be parsed.
func (m *Store) take(stored *corev1.ConfigMap) {
	if isOlder(stored.ResourceVersion, m.version) {
		return
	}
	replaced := m.isRead && m.uid != stored.UID
	if replaced {
		m.storeAgain()
	}
	data := stored.Data
	m.version, m.uid, m.bytes, m.missing = stored.ResourceVersion, stored.UID, size(data), false
	for name, r := range m.records {
		if _, kept := data[name]; kept || replaced && r.unreadable {
			continue
		}
		if _, waits := m.waiting[name]; !waits {
			delete(m.records, name)
		}
	}
	for name, text := range data {
		theirs := decode(text)
		ours, waits := m.waiting[name]
		if waits && !isOlder(ours.version, theirs.version) {
			continue
		}
		delete(m.waiting, name)
		m.put(name, theirs)
	}
}

func size(data map[string]string) int {
	bytes := 0
	for name, text := range data {
		bytes += len(name) + len(text)
	}
	return bytes
}

// reflected adapts a taker to the store interface of a reflector.
type reflected struct {
	*watched
	taker
}

var (
	_ cache.TransformingStore      = reflected{}
	_ cache.ReflectorBookmarkStore = reflected{}
)

func (r reflected) Add(object any) error { return r.Update(object) }

func (r reflected) Update(object any) error {
	defer r.heardNow()
	return r.set(object)
}

func (r reflected) Delete(object any) error {
	defer r.heardNow()
	name, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		return err
	}
	r.remove(name.Name)
	return nil
}

func (r reflected) Replace(objects []any, _ string) error {
	if err := r.replace(objects); err != nil {
		return err
	}
	r.heardNow()
	r.synced.Store(true)
	return nil
}

func (r reflected) Resync() error { return nil }

func (r reflected) Bookmark(string) error {
	r.heardNow()
	return nil
}

func (r reflected) Transformer() cache.TransformFunc { return slim }
