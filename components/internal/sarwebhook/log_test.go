// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

func loggedBy(verbosity int, bodies ...string) []string {
	var lines []string
	config := testConfig(asX)
	config.Logger = funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: verbosity})
	h := New(config)
	for _, body := range bodies {
		post(h, body)
	}
	h.Queue.Drain()
	return lines
}

func TestLines(t *testing.T) {
	refusal := head + `{"user":"system:node:y\nroot","extra":{"token":["hunter2"]},` +
		`"resourceAttributes":{"verb":"get\n","group":"g\n","resource":"pods\n","subresource":"s\n",` +
		`"namespace":"a\n","name":"b\n"}}}`
	for _, tt := range []struct {
		name      string
		verbosity int
		body      string
		want      []string
	}{
		{"a refusal is one line without what is secret", 0, refusal, []string{
			`"level"=0 "msg"="Not allowed" "user"="system:node:y�root" "verb"="get�" "group"="g�" ` +
				`"resource"="pods�" "subresource"="s�" ` +
				`"namespace"="a�" "name"="b�" "path"="" "decision"="no-opinion" "reason"="not x [NA-TEST-1]" "error"=""`,
		}},
		{"an allow is silent", 3, good, nil},
		{"an allow is a line when asked for", 4, good, []string{
			`"level"=4 "msg"="Allowed" "user"="system:node:x" "verb"="get" "group"="" "resource"="pods" "subresource"="" ` +
				`"namespace"="a" "name"="b" "path"="" "decision"="allow" "reason"="[NA-TEST-1]" "error"=""`,
		}},
		{"a request that is not a review is one line without its content", 0, `{"hunter2":1}`, []string{
			`"level"=0 "msg"="Not a review that can be read" "result"="undecodable" "contentLength"=13`,
		}},
		{"a review that is too large is one line", 0, strings.Repeat(" ", 1<<20), []string{
			`"level"=0 "msg"="Not allowed" "user"="" "verb"="" "group"="" "resource"="" "subresource"="" ` +
				`"namespace"="" "name"="" "path"="" ` +
				`"decision"="deny" "reason"="a review of more than 65536 bytes [NA-LIMIT]" "error"=""`,
		}},
		{"one with too many requirements names its user", 0, selecting(1001), []string{
			`"level"=0 "msg"="Not allowed" "user"="system:node:x" "verb"="list" "group"="" "resource"="pods" "subresource"="" ` +
				`"namespace"="" "name"="" "path"="" "decision"="deny" ` +
				`"reason"="more than 1000 selector requirements [NA-LIMIT]" "error"=""`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, loggedBy(tt.verbosity, tt.body)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestManyDenialsAreCountedInsteadOfLogged(t *testing.T) {
	for _, tt := range []struct {
		name string
		// user returns the user name of request i.
		user func(i int) string
		want int
	}{
		{"of one user", func(int) string { return "system:node:y" }, webhook.UserLineBurst},
		{"of made-up users", func(i int) string { return fmt.Sprintf("system:node:%d", i) }, webhook.LineBurst},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := 0
			config := testConfig(asX)
			config.Logger = funcr.New(func(string, string) { lines++ }, funcr.Options{})
			h := New(config)
			for i := range 1000 {
				post(h, reviewBy(tt.user(i)))
				h.Queue.Drain()
			}
			if lines != tt.want {
				t.Errorf("%d lines, want %d", lines, tt.want)
			}
			unlogged, err := testutil.GetCounterMetricValue(h.Metrics.Unlogged)
			if err != nil || int(unlogged) != 1000-tt.want {
				t.Errorf("%v unlogged (%v), want %d", unlogged, err, 1000-tt.want)
			}
		})
	}
}

// If the log is blocked, no more lines are queued. Decisions continue, and the lines that are
// dropped are counted.
func TestBlockedLogDoesNotDelayRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		written := 0
		config := testConfig(asX)
		config.Logger = funcr.New(func(string, string) { <-hang; written++ }, funcr.Options{Verbosity: 4})
		h := New(config)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.Run(ctx)
		}()
		const asked = 2 * webhook.MaxQueued
		for range asked {
			if got := replyTo(t, h, good); !got.Status.Allowed {
				t.Fatalf("%+v", got)
			}
			synctest.Wait()
		}
		close(hang)
		cancel()
		<-ended
		// One line more than the queue holds: the log is writing it.
		unlogged, err := testutil.GetCounterMetricValue(h.Metrics.Unlogged)
		if want := webhook.MaxQueued + 1; written != want || err != nil || int(unlogged) != asked-want {
			t.Errorf("%d lines written and %v unlogged (%v), want %d and %d", written, unlogged, err, want, asked-want)
		}
	})
}
