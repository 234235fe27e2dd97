// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

func TestCompareOutput(t *testing.T) {
	for _, tc := range []struct {
		name      string
		want, got string
		// problem is the beginning of the error. If it is empty, the output is right.
		problem string
	}{
		{"equal", "a\nb", "a\nb\n", ""},
		{"no expected output", "", "anything\n", ""},
		{"ellipsis in a line", "image …:v1 is …", "image x/y:v1 is here", ""},
		{"three dots are an ellipsis", "revoked: X509SHA256=0f2a...", "revoked: X509SHA256=0f2acafe", ""},
		{"ellipsis matches nothing too", "a…", "a", ""},
		{"beginning and end do not overlap", "aba…aba", "aba", "line 10: the output has no such line"},
		{"ellipsis on its own line matches lines", "a\n…\nd", "a\nb\nc\nd", ""},
		{"ellipsis on its own line matches no line", "a\n  …\nd", "a\nd", ""},
		{"output before the first line", "…\nd", "a\nb\nd", ""},
		{"the last of several fitting lines", "…\na\nb", "a\nc\na\nb", ""},
		{"times", "expires 2027-02-23T01:17:35Z", "expires 2031-12-01T10:00:00Z", ""},
		{"times with an offset", "at 2027-02-23 01:17:35.1+02:00", "at 2031-12-01T10:00:00Z", ""},
		{"durations", "left 2159h52m42s", "left 1440h0m0s", ""},
		{"duration of a step is missing", "done  switch (18.2s)", "done  switch", ""},
		{"duration of a step is extra", "done  make certificates", "done  make certificates (3.4s)", ""},
		{"hashes", "file sha256:0123456789ab", "file sha256:fedcba987654", ""},
		{"short words of hexadecimal digits are not hashes", "bad cafe", "bad face", "line 10: the output has no such line"},
		{"width of columns", "A  B", "A        B", ""},
		{"empty lines", "a\n\nb", "a\nb\n\n", ""},
		{"progress of a slow machine", "a\nb", "a\n  waiting    for kube-apiserver, 15s so far: x\nb", ""},
		{"line ends of a terminal", "a\nb", "a\r\nb\r\n", ""},
		{"another line", "a\nb\nc", "a\nx\nc", "line 11: the output has no such line, or not in this place: b"},
		{"missing line at the end", "a\nb", "a", "line 11: the output has no such line"},
		{"no output", "a", "", "line 10: the output has no such line"},
		{"more lines", "a", "a\nb", "line 10: the output has more lines than the page"},
		{"other order", "a\nb", "b\na", "line 10: the output has no such line"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Command{WantLine: 10}
			if tc.want != "" {
				c.Want = strings.Split(tc.want, "\n")
			}
			err := compare(c, tc.got)
			switch {
			case tc.problem == "" && err != nil:
				t.Error(err)
			case tc.problem != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.problem)):
				t.Errorf("error %v, want %q", err, tc.problem)
			}
		})
	}
}

// A page with many ellipses must not take exponential time.
func TestCompareHostileOutput(t *testing.T) {
	c := Command{Want: strings.Split(strings.Repeat("…\na…a…a…a\n", 200)+"z", "\n")}
	begin := time.Now()
	if err := compare(c, strings.Repeat(strings.Repeat("a", 50)+"\n", 500)); err == nil {
		t.Error("no error")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
