// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPresentable(t *testing.T) {
	long := strings.Repeat("a", 2<<10)
	for _, tt := range []struct{ name, in, want string }{
		{"nothing stays nothing", "", ""},
		{"a rule alone stays", "[NA-X-1]", "[NA-X-1]"},
		{"a short reason stays", "no, \"x\" [NA-X-1]", "no, \"x\" [NA-X-1]"},
		{"a long one keeps its rule", long + " [NA-X-1]", long[:1024-9] + "… [NA-X-1]"},
		{"a long one without a rule is cut", long, long[:1024] + "…"},
		{"what only looks like a rule is cut", long + " [" + long + "]", long[:1024] + "…"},
		{"what is not printable goes", "\n\u202e [NA-X-1]", "�� [NA-X-1]"},
		{"what is not printable goes from a made-up rule", "a [\n]", "a […"},
		{"many of them cannot grow it", strings.Repeat("\n", 1<<10) + " [NA-X-1]", strings.Repeat("�", 338) + "… [NA-X-1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Presentable(tt.in)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
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
			got := Printable(tt.in, 256)
			if diff := cmp.Diff(tt.want, got); diff != "" || !utf8.ValidString(got) {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
