// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"time"
)

type maxAgeKey struct{}

// WithMaxAge makes a context in which no cached answer is accepted that the API server
// was asked for longer ago than maxAge. A review that is being made is shared if it was
// begun since then.
func WithMaxAge(ctx context.Context, maxAge time.Duration) context.Context {
	return context.WithValue(ctx, maxAgeKey{}, maxAge)
}

// MaxAgeOf is the bound that [WithMaxAge] set; 0 if there is none.
func MaxAgeOf(ctx context.Context) time.Duration {
	maxAge, _ := ctx.Value(maxAgeKey{}).(time.Duration)
	return maxAge
}
