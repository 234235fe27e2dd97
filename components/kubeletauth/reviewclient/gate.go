// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBusy is the error when so many reviews wait for their turn that one more may not.
var ErrBusy = errors.New("too many reviews wait for the API server")

// gate lets so many in at one time, and so many wait.
type gate struct {
	places  chan struct{}
	waiting atomic.Int64
	most    int64
}

func newGate(inFlight, waiting int) *gate {
	return &gate{places: make(chan struct{}, inFlight), most: int64(waiting)}
}

// enter waits for a place, which has to be given back with leave if, and only if,
// there is no error: [ErrBusy], or that of ctx.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.places <- struct{}{}:
		return g.leave, nil
	default:
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.most {
		return nil, ErrBusy
	}
	select {
	case g.places <- struct{}{}:
		return g.leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gate) leave() { <-g.places }
