// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"runtime/debug"
)

// Guarded calls decide. If decide panics, Guarded calls panicked with the cause, in a form that is
// safe to log, and the stack.
func Guarded(decide func(), panicked func(cause, stack string)) {
	defer func() {
		if cause := recover(); cause != nil {
			panicked(Loggable(fmt.Sprint(cause)), string(debug.Stack()))
		}
	}()
	decide()
}
