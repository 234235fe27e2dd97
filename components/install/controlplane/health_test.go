// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
)

// look is the state of the API server at one check.
type look struct {
	down    bool
	mute    bool
	process cluster.Process
	reason  string
}

// script is an API server that shows one look after the other. It repeats the last one.
type script struct {
	looks []look
	at    int
}

func (s *script) Ready(context.Context) error {
	s.at = min(s.at+1, len(s.looks))
	if s.looks[s.at-1].down {
		return errors.New("connection refused")
	}
	return nil
}

func (s *script) Version(context.Context) (string, error) { return "", nil }

func (s *script) Process(context.Context) (cluster.Process, error) {
	return s.looks[s.at-1].process, nil
}

func (s *script) CanaryDecision(context.Context) (cluster.Decision, error) {
	return cluster.Decision{Reason: s.looks[s.at-1].reason}, nil
}

func (s *script) ReportStatus(context.Context, string) error {
	if s.looks[s.at-1].mute {
		return errors.New("failed calling webhook")
	}
	return nil
}

var (
	before = cluster.Process{Start: "1", AuthorizationHash: "same", AdmissionHash: "ours"}
	now    = cluster.Process{Start: "2", AuthorizationHash: "same", AdmissionHash: "ours"}
	good   = look{process: now, reason: "no relationship found [NA-SECRET-1]"}
)

func written() (cluster.Process, error) { return now, nil }

func TestWaitNewServer(t *testing.T) {
	for _, tc := range []struct {
		name     string
		not      look
		mentions string
	}{
		{"a server that does not answer is not it", look{down: true}, "connection refused"},
		{"the old process is not it, though it has read the new file", look{process: before, reason: good.reason},
			"not restarted it yet"},
		{"a new process with another file is not it",
			look{process: cluster.Process{Start: "2", AuthorizationHash: "other"}, reason: good.reason}, `"other"`},
		{"a new process without our webhook is not it",
			look{process: cluster.Process{Start: "2", AuthorizationHash: "same"}, reason: good.reason}, `from disk ""`},
		{"one that cannot call our webhook is not it", look{process: now, reason: good.reason, mute: true},
			"can no longer report its status"},
		{"authorizer gives no reason: not ready", look{process: now, reason: ""}, "does not decide"},
		{"node-authorizer is not ready: not ready", look{process: now, reason: "wait [NA-UNREADY]"}, "does not decide"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{looks: []look{tc.not, tc.not, good}}
				in := &Installer{Server: s, Engine: quiet()}
				if err := in.waitNewServer(t.Context(), time.Minute, before, written); err != nil || s.at != 3 {
					t.Errorf("after %d looks: %v", s.at, err)
				}
				s = &script{looks: []look{tc.not}}
				in.Server = s
				err := in.waitNewServer(t.Context(), time.Minute, before, written)
				if err == nil || !strings.Contains(err.Error(), tc.mentions) || s.at == 0 {
					t.Errorf("error is %v", err)
				}
			})
		})
	}
}

func expectNone(p cluster.Process) error {
	if p.AuthorizationHash != "" {
		return errors.New("it runs with a file")
	}
	return nil
}

func TestWaitOldServerWantsItToStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, gone := look{process: cluster.Process{Start: "1"}}, look{down: true}
		s := &script{looks: []look{old, old, gone, gone, {process: now}, old}}
		in := &Installer{Server: s, Engine: quiet(), Settle: 3 * time.Second}
		begin := time.Now()
		if err := in.waitOldServer(t.Context(), time.Minute, expectNone); err != nil {
			t.Fatal(err)
		}
		// The sixth look, after five seconds, is the first of the three that count.
		if took := time.Since(begin); took != 8*time.Second {
			t.Errorf("it took %v, want 8s", took)
		}
	})
}

// restarts is a component whose process changes after some checks.
type restarts struct{ left int }

func (r *restarts) Ready(context.Context) error { return nil }

func (r *restarts) Start(context.Context) (string, error) {
	if r.left--; r.left >= 0 {
		return "old", nil
	}
	return "new", nil
}

func (r *restarts) Tail() string { return "" }

func TestWaitComponentWantsANewProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &Installer{Engine: quiet()}
		c := &restarts{left: 3}
		begin := time.Now()
		if err := in.waitComponent(t.Context(), c, "it", time.Minute, "old"); err != nil ||
			time.Since(begin) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		c.left = 1000
		if err := in.waitComponent(t.Context(), c, "it", time.Minute, "old"); err == nil ||
			!strings.Contains(err.Error(), "is the image there?") {
			t.Errorf("error is %v", err)
		}
	})
}

// quiet prints nothing and checks every second.
func quiet() engine.Engine { return engine.Engine{Out: io.Discard, Now: time.Now, Poll: time.Second} }
