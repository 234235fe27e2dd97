// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Why a stream ends that neither side ended.
var (
	errIdle     = errors.New("nothing was carried for too long")
	errRevoked  = errors.New("the caller is no longer who it was")
	errAccess   = errors.New("access was taken away")
	errUnsure   = errors.New("whether access is still there could not be learned for too long")
	errStopping = errors.New("the proxy is stopping")
)

// closeTimeout is how long what is being written gets when a stream is ended.
const closeTimeout = time.Second

// stream is an exchange that can last. One timer watches it.
type stream struct {
	exchange *exchange
	req      *http.Request
	ctx      context.Context
	cancel   context.CancelCauseFunc
	// outlive has the stream not end with its request any more.
	outlive func() bool
	// kubelets is below the connection that asks the kubelet for an upgrade; nil for
	// what asks for none.
	kubelets *wire
	// last is when something was carried, in nanoseconds since 1970.
	last atomic.Int64

	mu    sync.Mutex
	timer *time.Timer
	// conn is the client's connection, once it was taken over.
	conn net.Conn
	over bool
	// check is when access has to be asked about; sure when it was last confirmed.
	check, sure time.Time
}

// lasts makes an exchange a stream. The request that it returns ends with it.
func (x *exchange) lasts(req *http.Request) *http.Request {
	// It may outlive the request.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(req.Context()))
	now := time.Now()
	s := &stream{exchange: x, req: req, cancel: cancel, sure: now, check: now.Add(x.handler.config.Limits.firstCheck())}
	s.ctx = context.WithValue(ctx, streamKey{}, s)
	s.outlive = context.AfterFunc(req.Context(), func() { cancel(context.Cause(req.Context())) })
	s.last.Store(now.UnixNano())
	x.stream = s
	// The server's bound on ordinary requests is not for streams.
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Time{})
	if !x.recorded {
		x.line.Stage = begun
		x.tell()
	}
	x.handler.measures.streams.WithLabelValues(x.line.Subresource).Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(s.untilLocked(now), s.look)
	if !x.handler.streams.add(s) {
		cancel(errStopping)
	}
	return req.WithContext(s.ctx)
}

func (s *stream) touch() { s.last.Store(time.Now().UnixNano()) }

// untilLocked is how long there is nothing to look at.
func (s *stream) untilLocked(now time.Time) time.Duration {
	idle := time.Unix(0, s.last.Load()).Add(s.exchange.handler.config.Limits.StreamIdle)
	return max(min(idle.Sub(now), s.check.Sub(now)), time.Millisecond)
}

// look is called by the timer.
func (s *stream) look() {
	limits := s.exchange.handler.config.Limits
	now := time.Now()
	if now.Sub(time.Unix(0, s.last.Load())) >= limits.StreamIdle {
		s.end(errIdle)
		return
	}
	s.mu.Lock()
	due := !now.Before(s.check)
	s.mu.Unlock()
	if due {
		if err := s.recheck(now); err != nil {
			s.end(err)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.timer.Reset(s.untilLocked(time.Now()))
	}
}

// hijacked notes the connection that has to be closed, now if the stream has been ended.
func (s *stream) hijacked(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
	if s.ctx.Err() != nil {
		_ = conn.SetDeadline(time.Now().Add(closeTimeout))
	}
}

// end ends the stream. The connection to the kubelet is closed, and then, as TLS has it,
// the client's. A client that takes nothing does not hold that
// up, nor one that does not end its own half after the kubelet has ended its.
func (s *stream) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.cancel(cause)
	deadline := time.Now().Add(closeTimeout)
	if s.conn != nil {
		_ = s.conn.SetDeadline(deadline)
		return
	}
	_ = http.NewResponseController(s.exchange.ResponseWriter).SetWriteDeadline(deadline)
}

// finish is called when the exchange is over.
func (s *stream) finish() {
	s.mu.Lock()
	s.over = true
	s.timer.Stop()
	s.mu.Unlock()
	s.outlive()
	s.cancel(nil)
}

// forget is called after the last line: who waits for the last stream stops what
// writes them.
func (s *stream) forget() {
	h := s.exchange.handler
	h.streams.remove(s)
	h.measures.streams.WithLabelValues(s.exchange.line.Subresource).Dec()
}

// cause is why the proxy ended the stream, if it did.
func (s *stream) cause() string {
	if cause := context.Cause(s.ctx); isOurs(cause) {
		return cause.Error()
	}
	return ""
}

// isOurs is true for an end that neither side brought about.
func isOurs(err error) bool {
	for _, ours := range []error{errIdle, errRevoked, errAccess, errUnsure, errStopping} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}
