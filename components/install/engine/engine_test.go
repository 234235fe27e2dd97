// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestUntilReturnsTheLastResultNotTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{Out: io.Discard, Now: time.Now, Poll: time.Second}
		looks := 0
		err := e.Until(t.Context(), 10*time.Second, "it", func(ctx context.Context) error {
			if looks++; looks < 3 {
				return errors.New("the port is closed")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if err == nil || !strings.Contains(err.Error(), "not within 10s: the port is closed") {
			t.Errorf("error is %v", err)
		}
	})
}
