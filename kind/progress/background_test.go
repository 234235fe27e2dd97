// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestWaitReturnsOutputAndError(t *testing.T) {
	failed := errors.New("it failed")
	b := Begin(t.Context(), func(_ context.Context, log io.Writer) error {
		fmt.Fprint(log, "said")
		return failed
	})
	defer b.Stop()
	var log strings.Builder
	if err := b.Wait(&log); !errors.Is(err, failed) {
		t.Errorf("err = %v", err)
	}
	if log.String() != "said" {
		t.Errorf("log = %q", log.String())
	}
}

func TestStoppedProcessHasEnded(t *testing.T) {
	ended := false
	b := Begin(t.Context(), func(ctx context.Context, _ io.Writer) error {
		<-ctx.Done()
		ended = true
		return ctx.Err()
	})
	b.Stop()
	if !ended {
		t.Error("Stop returned before the job had ended")
	}
	if err := b.Wait(io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}
