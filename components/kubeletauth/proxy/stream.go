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

// The reasons why the proxy ends a stream.
var (
	errIdle     = errors.New("nothing was sent for too long")
	errRevoked  = errors.New("the credential no longer authenticates the same user")
	errListed   = errors.New("the credential is revoked")
	errAccess   = errors.New("the user no longer has access")
	errUnsure   = errors.New("the API server did not confirm access for too long")
	errStopping = errors.New("the proxy is stopping")
)

// closeTimeout bounds a write in progress when the proxy ends a stream.
const closeTimeout = time.Second

// stream is a request that can be long-lived. One timer checks it.
type stream struct {
	request *requestContext
	req     *http.Request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// last is the time of the last byte, in nanoseconds since 1970.
	last atomic.Int64

	mu    sync.Mutex
	timer *time.Timer
	// conn is the client's connection after an upgrade.
	conn net.Conn
	over bool
	// audited is true once a recheck would have ended the stream (Config.AuditOnly).
	audited bool
	// check is the time of the next recheck. sure is the time when access was last confirmed.
	check, sure time.Time
}

// startStream makes the request a stream. The context of the returned request ends with the stream.
func (rc *requestContext) startStream(req *http.Request) *http.Request {
	now := time.Now()
	s := &stream{request: rc, req: req, sure: now, check: now.Add(rc.handler.config.Limits.firstCheck())}
	s.ctx, s.cancel = context.WithCancelCause(req.Context())
	s.last.Store(now.UnixNano())
	rc.stream = s
	// The timeout of ordinary requests does not apply to streams.
	_ = http.NewResponseController(rc.ResponseWriter).SetWriteDeadline(time.Time{})
	if !rc.recorded {
		rc.event.Stage = stageBegin
		rc.log()
	}
	rc.handler.metrics.streams.WithLabelValues(rc.event.Subresource).Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(s.untilLocked(now), s.look)
	if !rc.handler.streams.add(s) {
		s.cancel(errStopping)
	}
	return req.WithContext(s.ctx)
}

// touch restarts the idle timeout.
func (s *stream) touch() { s.last.Store(time.Now().UnixNano()) }

// untilLocked returns the time until the next idle check or recheck.
func (s *stream) untilLocked(now time.Time) time.Duration {
	idle := time.Unix(0, s.last.Load()).Add(s.request.handler.config.Limits.StreamIdle)
	return max(min(idle.Sub(now), s.check.Sub(now)), time.Millisecond)
}

// look is called by the timer. It ends the stream if it is idle or no longer allowed.
func (s *stream) look() {
	now := time.Now()
	if now.Sub(time.Unix(0, s.last.Load())) >= s.request.handler.config.Limits.StreamIdle {
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

// hijack records the client's connection. If the stream has already ended, the connection ends now.
func (s *stream) hijack(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
	if s.ctx.Err() != nil {
		_ = conn.SetDeadline(time.Now().Add(closeTimeout))
	}
}

// end ends the stream. The context is canceled, so the reverse proxy closes the connection to the
// kubelet, and then the client's connection. The deadline is for a client that does not read, and
// for one that does not close its half after the kubelet has closed its own.
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
	_ = http.NewResponseController(s.request.ResponseWriter).SetWriteDeadline(deadline)
}

// finish is called when the request is over.
func (s *stream) finish() {
	s.mu.Lock()
	s.over = true
	s.timer.Stop()
	s.mu.Unlock()
	s.cancel(nil)
}

// wasAudited reports whether a recheck would have ended the stream.
func (s *stream) wasAudited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.audited
}

// forget is called after the last audit event. When the last stream is forgotten, the audit log may
// stop.
func (s *stream) forget() {
	h := s.request.handler
	h.streams.remove(s)
	h.metrics.streams.WithLabelValues(s.request.event.Subresource).Dec()
}

// cause returns why the proxy ended the stream, or "" if it did not.
func (s *stream) cause() string {
	if cause := context.Cause(s.ctx); endedByProxy(cause) {
		return cause.Error()
	}
	return ""
}

func endedByProxy(err error) bool {
	for _, reason := range []error{errIdle, errRevoked, errListed, errAccess, errUnsure, errStopping} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// streams contains the open streams. It is safe for concurrent use.
type streams struct {
	mu       sync.Mutex
	all      map[*stream]struct{}
	stopping bool
	// none is closed when the last stream ends. It is nil if no caller waits for that.
	none chan struct{}
}

// add adds a stream. It returns false once the proxy is stopping.
func (s *streams) add(one *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*stream]struct{}{}
	}
	s.all[one] = struct{}{}
	return !s.stopping
}

func (s *streams) remove(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one)
	if len(s.all) == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// stop returns the open streams. After that, add returns false.
func (s *streams) stop() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	list := make([]*stream, 0, len(s.all))
	for one := range s.all {
		list = append(list, one)
	}
	return list
}

// empty returns a channel that is closed when no stream is open.
func (s *streams) empty() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.none == nil {
		s.none = make(chan struct{})
	}
	none := s.none
	if len(s.all) == 0 {
		close(s.none)
		s.none = nil
	}
	return none
}

// Drain waits for streams to end until ctx is done, and then ends the rest. It returns when
// no stream is open.
func (h *Handler) Drain(ctx context.Context) {
	select {
	case <-h.streams.empty():
	case <-ctx.Done():
	}
	for _, one := range h.streams.stop() {
		one.end(errStopping)
	}
	<-h.streams.empty()
}
