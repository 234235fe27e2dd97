// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// maxNodes bounds the memory that names can take: beyond it, new names share
	// one entry.
	maxNodes = 16384
	// maxNodeName is the longest name that a Node object can have. A longer one is
	// no node's, and is not worth an entry.
	maxNodeName = 253
	// sweepInterval is how often entries of nodes that are gone are let go.
	sweepInterval = time.Minute
	// logQPS and logBurst bound the lines that one node's refusals may write.
	logQPS   = 2
	logBurst = 20
)

// Limits bound what one node, and all of them, can ask for.
type Limits struct {
	// InFlight bounds the requests being decided at one time.
	InFlight int
	// InFlightPerNode bounds those of one node.
	InFlightPerNode int
	// NodeQPS and NodeBurst bound the rate of one node.
	NodeQPS   float64
	NodeBurst int
}

// limiter hands out shares: first of the node, then of all.
type limiter struct {
	limits   Limits
	clock    clock.PassiveClock
	maxNodes int

	mu        sync.Mutex
	inFlight  int
	nodes     map[string]*share
	lastSweep time.Time
	// overflow is shared by the names that have no entry of their own.
	overflow *share
	// others is shared by everybody who is not a node: not limited, but logged
	// within bounds all the same.
	others *share
}

// share is what one node has used. All fields are guarded by limiter.mu; the
// buckets guard themselves.
type share struct {
	inFlight int
	requests *rate.Limiter
	lines    *rate.Limiter
}

func newLimiter(limits Limits, clock clock.PassiveClock) *limiter {
	l := &limiter{limits: limits, clock: clock, maxNodes: maxNodes, nodes: map[string]*share{}, lastSweep: clock.Now()}
	l.overflow, l.others = l.newShare(), l.newShare()
	return l
}

func (l *limiter) newShare() *share {
	return &share{
		requests: rate.NewLimiter(rate.Limit(l.limits.NodeQPS), l.limits.NodeBurst),
		lines:    rate.NewLimiter(logQPS, logBurst),
	}
}

// excess says which bound a request is over.
type excess string

const (
	withinLimits excess = ""
	nodeRate     excess = "node-rate"
	nodeInFlight excess = "node-in-flight"
	allInFlight  excess = "all-in-flight"
	tooLarge     excess = "review-size"
)

// admit takes a place for one request. The place has to be given back with
// release if, and only if, the request is within its limits.
func (l *limiter) admit(node string, isNode bool) (*share, excess) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.others
	if isNode {
		s = l.shareLocked(node, now)
		if s.inFlight >= l.limits.InFlightPerNode {
			return s, nodeInFlight
		}
		if !s.requests.AllowN(now, 1) {
			return s, nodeRate
		}
	}
	if l.inFlight >= l.limits.InFlight {
		return s, allInFlight
	}
	s.inFlight++
	l.inFlight++
	return s, withinLimits
}

func (l *limiter) release(s *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.inFlight--
	l.inFlight--
}

// mayLog is true for as many refusals as one node may write lines.
func (l *limiter) mayLog(s *share) bool {
	return s.lines.AllowN(l.clock.Now(), 1)
}

func (l *limiter) shareLocked(node string, now time.Time) *share {
	if now.Sub(l.lastSweep) >= sweepInterval {
		l.sweepLocked(now)
	}
	if s := l.nodes[node]; s != nil {
		return s
	}
	if len(node) > maxNodeName || len(l.nodes) >= l.maxNodes {
		return l.overflow
	}
	s := l.newShare()
	l.nodes[node] = s
	return s
}

// sweepLocked forgets nodes whose buckets are full again: forgetting them changes
// no answer.
func (l *limiter) sweepLocked(now time.Time) {
	l.lastSweep = now
	for node, s := range l.nodes {
		full := s.requests.TokensAt(now) >= float64(l.limits.NodeBurst) && s.lines.TokensAt(now) >= logBurst
		if s.inFlight == 0 && full {
			delete(l.nodes, node)
		}
	}
}
