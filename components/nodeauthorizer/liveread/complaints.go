// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package liveread

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"k8s.io/klog/v2"
)

const (
	// quiet is the least time between two complaints.
	quiet = 10 * time.Second
	// maxComplaint bounds, in bytes, what of an error is logged.
	maxComplaint = 256
)

// complaints are the lines about reads that failed. Whoever may name a node can
// bring them about, so they are few, short and on one line; and no read waits for
// a log that hangs.
type complaints struct {
	// next is when another may be made, in nanoseconds; busy is true while one is
	// being written.
	next atomic.Int64
	busy atomic.Bool
}

func (c *complaints) about(ctx context.Context, resource string, err error) {
	now := time.Now()
	next := c.next.Load()
	if now.UnixNano() < next || !c.next.CompareAndSwap(next, now.Add(quiet).UnixNano()) ||
		!c.busy.CompareAndSwap(false, true) {
		return
	}
	text := loggable(err)
	go func() {
		defer c.busy.Store(false)
		klog.FromContext(ctx).Error(nil, "A live read failed; others of the next ten seconds are not logged", "resource",
			resource, "cause", text)
	}()
}

func loggable(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text[:min(len(text), maxComplaint)])
	return text
}
