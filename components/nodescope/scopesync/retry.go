// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import "time"

// retry spaces attempts that fail, or that have nothing new to find.
type retry struct {
	next  time.Time
	delay time.Duration
	// wrong is what the last attempt met; empty if it was good.
	wrong string
}

func (r *retry) isDue() bool { return !time.Now().Before(r.next) }

// later has the next attempt wait twice as long as this one did, within bounds.
func (r *retry) later(longest time.Duration) {
	r.delay = min(max(2*r.delay, interval), longest)
	r.next = time.Now().Add(r.delay)
}

func (r *retry) failed(err error, longest time.Duration) {
	r.wrong = err.Error()
	r.later(longest)
}

func (r *retry) reset() { *r = retry{} }
