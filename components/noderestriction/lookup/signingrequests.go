// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// maxTallied bounds the certificate signing requests that one tally reads, and so the
// nodes that it knows of. 5,000 nodes that join within an hour make 10,000.
const maxTallied = 20_000

// admittedDay is how long at least an admission counts that no complete tally has seen,
// and half of how long at most. kube-controller-manager removes requests sooner:
// pkg/controller/certificates/cleaner/cleaner.go.
const admittedDay = 24 * time.Hour

// askedFor is what certificate signing requests are counted by.
type askedFor struct {
	node    string
	signers noderestriction.Signers
}

// askedBy is empty for a user that is no node.
func askedBy(username, signer string) askedFor {
	node, isNode := strings.CutPrefix(username, nodeidentity.Prefix)
	if !isNode {
		return askedFor{}
	}
	return askedFor{node, noderestriction.SignersOf(signer)}
}

// signingRequests is how many certificate signing requests each node has made: those
// that the last good tally has seen, and those that this process has admitted since it
// began, for one to two days. The zero value can be used. It is safe for concurrent use.
type signingRequests struct {
	mu sync.Mutex
	// listed is what the last good tally has seen.
	listed map[askedFor]int
	// before were admitted before the tally began that is under way, or was last, and
	// since after it. earlier are those from the day before that which began at day.
	before, since, earlier map[askedFor]int
	day                    time.Time
	// incomplete is true if the last good tally has not seen all.
	incomplete bool
}

// count returns how many there are, up to limit. Fewer become one more if adds is
// true.
func (s *signingRequests) count(by askedFor, limit int, adds bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(s.listed[by]+s.admitted(by)+s.since[by], limit)
	if adds && n < limit {
		s.since = plus(s.since, by, 1)
	}
	return n
}

// admitted is how many were admitted before the last tally began.
func (s *signingRequests) admitted(by askedFor) int { return s.before[by] + s.earlier[by] }

// begin is called when a tally begins, which sees what was stored before.
func (s *signingRequests) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.day) >= admittedDay {
		s.earlier, s.before, s.day = s.before, nil, now
	}
	for by, n := range s.since {
		s.before = plus(s.before, by, n)
	}
	s.since = nil
}

// end takes what a tally has seen. If that is not all, some of what was counted before
// may be in it, so the larger number of the two holds. It returns whether this tally is
// the first that has not seen all.
func (s *signingRequests) end(listed map[askedFor]int, complete bool) (newlyIncomplete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if complete {
		s.before, s.earlier = nil, nil
	} else {
		s.before, s.earlier = s.unseen(listed)
	}
	newlyIncomplete = !complete && !s.incomplete
	s.listed, s.incomplete = listed, !complete
	return newlyIncomplete
}

// unseen is what was counted before and is not listed now. Of what was admitted the
// oldest counts as listed. What was listed before counts as admitted today, so that
// it does not stay for ever.
func (s *signingRequests) unseen(listed map[askedFor]int) (before, earlier map[askedFor]int) {
	for _, counted := range []map[askedFor]int{s.before, s.earlier, s.listed} {
		for by := range counted {
			n := s.listed[by] + s.admitted(by) - listed[by]
			if n <= 0 || before[by]+earlier[by] > 0 {
				continue
			}
			old := max(min(n-s.before[by], s.earlier[by]), 0)
			if old > 0 {
				earlier = plus(earlier, by, old)
			}
			if n > old {
				before = plus(before, by, n-old)
			}
		}
	}
	return before, earlier
}

// plus counts no more nodes than there can be: names of nodes are certificates that
// somebody has signed, but memory is bounded all the same.
func plus(counts map[askedFor]int, by askedFor, n int) map[askedFor]int {
	if counts == nil {
		counts = map[askedFor]int{}
	}
	if _, known := counts[by]; known || len(counts) < maxTallied {
		counts[by] += n
	}
	return counts
}
