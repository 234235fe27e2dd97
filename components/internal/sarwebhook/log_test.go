// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
)

func loggedBy(verbosity int, bodies ...string) []string {
	var lines []string
	config := testConfig(asX)
	config.Logger = klog.Logger(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: verbosity}))
	h := New(config)
	for _, body := range bodies {
		post(h, body)
	}
	return lines
}

func TestLines(t *testing.T) {
	refusal := head + `{"user":"system:node:y\nroot","extra":{"token":["hunter2"]},` +
		`"resourceAttributes":{"verb":"get\n","group":"g\n","resource":"pods\n","subresource":"s\n","namespace":"a\n","name":"b\n"}}}`
	for _, tt := range []struct {
		name      string
		verbosity int
		body      string
		want      []string
	}{
		{"a refusal is one line without what is secret", 0, refusal, []string{
			`"level"=0 "msg"="Not allowed" "user"="system:node:y�root" "verb"="get�" "group"="g�" "resource"="pods�" "subresource"="s�" ` +
				`"namespace"="a�" "name"="b�" "path"="" "decision"="no-opinion" "reason"="not x [NA-TEST-1]" "error"=""`,
		}},
		{"an allow is silent", 3, good, nil},
		{"an allow is a line when asked for", 4, good, []string{
			`"level"=4 "msg"="Allowed" "user"="system:node:x" "verb"="get" "group"="" "resource"="pods" "subresource"="" ` +
				`"namespace"="a" "name"="b" "path"="" "decision"="allow" "reason"="[NA-TEST-1]" "error"=""`,
		}},
		{"what is no review is silent", 4, `{}`, nil},
		{"a review that is too large is one line", 0, strings.Repeat(" ", 1<<20), []string{
			`"level"=0 "msg"="Not allowed" "decision"="deny" "reason"="a review of more than 262144 bytes"`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, loggedBy(tt.verbosity, tt.body)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAFloodIsCountedInsteadOfLogged(t *testing.T) {
	var lines int
	config := testConfig(asX)
	config.Logger = klog.Logger(funcr.New(func(string, string) { lines++ }, funcr.Options{}))
	h := New(config)
	for range 100 {
		post(h, reviewBy("system:node:y"))
	}
	post(h, reviewBy("system:node:z"))
	if lines != logBurst+1 {
		t.Errorf("%d lines, want %d of the flood and one of the other node", lines, logBurst+1)
	}
	unlogged, err := testutil.GetCounterMetricValue(h.metrics.unlogged)
	if err != nil || unlogged != 100-logBurst {
		t.Errorf("%v unlogged (%v), want %d", unlogged, err, 100-logBurst)
	}
}

func TestPrintable(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain text stays", "a b/c:d", "a b/c:d"},
		{"letters of any alphabet stay", "ünïcødé 节点", "ünïcødé 节点"},
		{"line breaks go", "a\r\nb", "a��b"},
		{"escape sequences go", "a\x1b[31m", "a�[31m"},
		{"NUL goes", "a\x00", "a�"},
		{"changes of direction go", "a\u202eb", "a�b"},
		{"invalid UTF-8 goes", "a\xff", "a�"},
		{"what is long is cut", strings.Repeat("a", 300), strings.Repeat("a", 256) + "…"},
		{"a rune is not cut", strings.Repeat("a", 255) + "节点", strings.Repeat("a", 255) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := printable(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" || !utf8.ValidString(got) {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
