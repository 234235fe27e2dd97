// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

// Seen returns, for each resource that was listed, the newest resource version that the
// watch has shown. Every change up to that version counts in what is decided. A watch that
// has stalled falls behind here, also while its connection is kept.
func (s *Sync) Seen() map[string]string {
	seen := map[string]string{}
	for _, w := range s.watched {
		if version := w.seen(); version != "" {
			seen[w.name] = version
		}
	}
	return seen
}

func (s *store) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions.seen
}
