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

// maxTallied limits how many CertificateSigningRequests one count reads, and so how many nodes it
// has. 5,000 nodes that join within an hour create 10,000 requests.
const maxTallied = 20_000

// admittedDay is the shortest time for which an admitted request counts that no complete count has
// included. The longest time is twice as long. kube-controller-manager removes requests sooner:
// pkg/controller/certificates/cleaner/cleaner.go.
const admittedDay = 24 * time.Hour

// askedFor is the key under which CertificateSigningRequests are counted.
type askedFor struct {
	node    string
	signers noderestriction.Signers
}

// askedBy returns the zero value for a user that is not a node.
func askedBy(username, signer string) askedFor {
	node, isNode := strings.CutPrefix(username, nodeidentity.Prefix)
	if !isNode {
		return askedFor{}
	}
	return askedFor{node, noderestriction.SignersOf(signer)}
}

// signingRequests counts the CertificateSigningRequests of each node: those in the last good count,
// and those that this process has admitted since that count began. The latter count for one to two
// days. The zero value is ready to use. It is safe for concurrent use.
type signingRequests struct {
	mu sync.Mutex
	// listed has the result of the last good count.
	listed map[askedFor]int
	// before, since and earlier have the admitted requests. since has those admitted after the
	// current or last count began, and before has those admitted earlier on the same day. day is
	// when that day began. earlier has those of the day before.
	before, since, earlier map[askedFor]int
	day                    time.Time
	// incomplete is true if the last good count did not include all requests.
	incomplete bool
}

// count returns the number of requests, at most limit. If it is below limit and adds is true, count
// also adds one request.
func (s *signingRequests) count(by askedFor, limit int, adds bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(s.listed[by]+s.admitted(by)+s.since[by], limit)
	if adds && n < limit {
		s.since = plus(s.since, by, 1)
	}
	return n
}

// admitted returns how many requests were admitted before the last count began.
func (s *signingRequests) admitted(by askedFor) int { return s.before[by] + s.earlier[by] }

// begin is called when a count begins. The count includes what was stored before.
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

// end stores the result of a count. A count that is not complete may include some of the requests
// that were counted before. Then the larger of the two numbers applies. end returns true for the
// first of several consecutive counts that are not complete.
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

// unseen returns the requests that were counted before and are missing from listed. It assumes that
// listed includes the oldest admitted requests. It treats requests that were listed before as
// admitted today, so that they expire.
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

// plus limits the number of keys. Node names come from certificates that a signer has issued, but
// memory must be limited anyway.
func plus(counts map[askedFor]int, by askedFor, n int) map[askedFor]int {
	if counts == nil {
		counts = map[askedFor]int{}
	}
	if _, known := counts[by]; known || len(counts) < maxTallied {
		counts[by] += n
	}
	return counts
}
