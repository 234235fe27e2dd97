// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package liveread

// shortfall is why a question could not be confirmed, as metrics label it.
type shortfall string

const (
	// none: the view is as new as the question.
	none shortfall = ""
	// nodeBudget and getBudget: too many callers of the node wait already.
	nodeBudget shortfall = "node-budget"
	getBudget  shortfall = "node-get-budget"
	// noTurn: the read did not begin in time.
	noTurn shortfall = "no-turn"
	// noAnswer: it did, but was not answered in time.
	noAnswer shortfall = "no-answer"
	// failed: the answer was an error.
	failed shortfall = "failed"
	// tooMany: the node has more pods than are read.
	tooMany shortfall = "too-many"
	// incomparable: the view could not tell whether the answer is news.
	incomparable shortfall = "incomparable"
	// withdrawn: the caller did not wait.
	withdrawn shortfall = "withdrawn"
)

// text is what the caller is told. It quotes neither the request nor the API
// server.
func (s shortfall) text() string {
	switch s {
	case none:
		return ""
	case nodeBudget, getBudget:
		return "not confirmed by a live read: the node's budget of reads is spent"
	case noTurn:
		return "not confirmed by a live read: the budget of reads is spent"
	case noAnswer:
		return "not confirmed by a live read: the API server did not answer in time"
	case failed:
		return "not confirmed by a live read: the API server answered with an error"
	case tooMany:
		return "not confirmed by a live read: the node has too many pods"
	case incomparable:
		return "not confirmed by a live read: its answer could not be compared with the view"
	default:
		return "not confirmed by a live read: the request was given up"
	}
}

// outcome is what a read came to, as metrics label it.
func (s shortfall) outcome() string {
	if s == none {
		return "ok"
	}
	return string(s)
}
