// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// logging returns a handler that appends its log lines to lines.
func logging(r Reviewer, verbosity int, lines *[]string) *Handler {
	config := testConfig(r)
	config.Logger = funcr.New(func(_, line string) { *lines = append(*lines, line) }, funcr.Options{Verbosity: verbosity})
	return New(config)
}

const (
	whoWhat = `"uid"="u" "user"="system:node:x" "operation"="CREATE" "group"="" ` +
		`"resource"="pods" "subresource"="" "namespace"="a" "name"="b" "dryRun"=false`
	unknown = `"uid"="u" "user"="" "operation"="" "group"="" ` +
		`"resource"="" "subresource"="" "namespace"="" "name"="" "dryRun"=false`
)

func TestLines(t *testing.T) {
	finding := &reviewer{answer: rules.Decision{Effect: rules.Allow,
		Findings: []rules.Finding{{Rule: "NR-TEST-1"}, {Rule: "NR-TEST-2"}}}}
	odd := reviewOf(func(f *fields) {
		f.user = `{"username":"system:node:x\nroot","extra":{"token":["hunter2"]}}`
		f.name, f.subresource, f.operation, f.resource = `"b\n"`, `"s\n"`, `"O\n"`,
			`{"group":"g\n","version":"v1","resource":"r\n"}`
		f.object = podWith(`"annotations":{"a":"hunter2"}`)
	})
	for _, tt := range []struct {
		name      string
		reviewer  Reviewer
		verbosity int
		body      string
		want      []string
	}{
		{"a refusal is one line", refusing(), 0, reviewOf(nil), []string{
			`"level"=0 "msg"="Not admitted" ` + whoWhat +
				` "decision"="deny" "rule"="NR-TEST-1" "code"=403 "message"="pods \"b\" is forbidden: no [NR-TEST-1]"`,
		}},
		{"what is secret or not printable is not in it", refusing(), 0, odd, []string{
			`"level"=0 "msg"="Not admitted" "uid"="u" "user"="system:node:x�root" "operation"="O�" ` +
				`"group"="g�" "resource"="r�" "subresource"="s�" "namespace"="a" "name"="b�" "dryRun"=false ` +
				`"decision"="deny" "rule"="" "code"=400 "message"="operation \"O\\n\" is not known"`,
		}},
		{"an admission is silent", allowing(), 3, reviewOf(nil), nil},
		{"an admission is a line when asked for", allowing(), 4, reviewOf(nil), []string{
			`"level"=4 "msg"="Admitted" ` + whoWhat + ` "decision"="allow" "rule"=""`,
		}},
		{"a finding is one line for each rule", finding, 0, reviewOf(nil), []string{
			`"level"=0 "msg"="NODE DENY, not enforced" ` + whoWhat + ` "rule"="NR-TEST-1" "node"="x" "reason"=""`,
			`"level"=0 "msg"="NODE DENY, not enforced" ` + whoWhat + ` "rule"="NR-TEST-2" "node"="x" "reason"=""`,
		}},
		{"what is no review is one line without its content", refusing(), 0, `{"hunter2":"hunter2","hunter2":1}`, []string{
			`"level"=0 "msg"="Not a review that can be read" "result"="undecodable" "contentLength"=33`,
		}},
		{"a review that is too large is one line", refusing(), 0,
			reviewOf(func(f *fields) { f.object = strings.Repeat(" ", 9<<20) + podB }), []string{
				`"level"=0 "msg"="Not admitted" ` + unknown +
					` "decision"="deny" "rule"="NR-LIMIT" "code"=413 "message"="a review of more than 8388608 bytes [NR-LIMIT]"`,
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var lines []string
			h := logging(tt.reviewer, tt.verbosity, &lines)
			post(h, tt.body)
			h.Queue.Drain()
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAPanicIsLoggedWithItsStack(t *testing.T) {
	var lines []string
	h := logging(ReviewerFunc(func(context.Context, admission.Attributes) rules.Decision { panic("oh\n") }), 0, &lines)
	post(h, reviewOf(nil))
	h.Queue.Drain()
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for the panic and one for the refusal: %q", len(lines), lines)
	}
	if !strings.HasPrefix(lines[0], `"msg"="Reviewer panicked" "error"=null `+whoWhat+` "cause"="oh�" "stack"=`) ||
		!strings.Contains(lines[0], "log_test.go") {
		t.Errorf("line %s", lines[0])
	}
}

// Many findings do not suppress the log lines of real denials, not even those of the same node.
func TestManyFindingsDoNotSuppressDenials(t *testing.T) {
	counts := map[string]int{}
	r := &reviewer{answer: rules.Decision{Effect: rules.Allow, Findings: []rules.Finding{{Rule: "NR-TEST-1"}}}}
	config := testConfig(r)
	config.Logger = funcr.New(func(_, line string) { counts[strings.Split(line, `"`)[5]]++ }, funcr.Options{})
	h := New(config)
	for range 1000 {
		post(h, reviewOf(nil))
		h.Queue.Drain()
	}
	r.answer = refusing().answer
	for range 1000 {
		post(h, reviewOf(nil))
		h.Queue.Drain()
	}
	want := map[string]int{"NODE DENY, not enforced": webhook.UserLineBurst,
		"Not admitted": webhook.UserLineBurst}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if unlogged, err := testutil.GetCounterMetricValue(h.Metrics.Unlogged); err != nil ||
		int(unlogged) != 2000-2*webhook.UserLineBurst {
		t.Errorf("%v unlogged (%v)", unlogged, err)
	}
}

// If the log is blocked, no more lines are queued. Reviews are still answered.
func TestBlockedLogDoesNotDelayRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		written := 0
		config := testConfig(allowing())
		config.Logger = funcr.New(func(string, string) { <-hang; written++ }, funcr.Options{Verbosity: 4})
		h := New(config)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.Run(ctx)
		}()
		const asked = 2 * webhook.MaxQueued
		for i := range asked {
			if got := replyTo(t, h, reviewOf(nil)); !got.Response.Allowed {
				t.Fatal(fmt.Sprint(i), got)
			}
			synctest.Wait()
		}
		close(hang)
		cancel()
		<-ended
		// One line more than the queue holds: the log is writing it.
		if want := webhook.MaxQueued + 1; written != want {
			t.Errorf("%d lines written, want %d", written, want)
		}
	})
}
