// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzReplace checks that the list that is read equals the list that was written, and that the
// text around the list is unchanged.
func FuzzReplace(f *testing.F) {
	for _, k := range kinds {
		f.Add(string(with(k.template, "")), "ns/a,b/c.d")
		f.Add(string(with(k.template, "'system:serviceaccount:ns:a'")), "")
	}
	f.Add(strings.Replace(string(with(admission, "")), "expression: ", "expression: !!str \"", 1), "a/b")
	f.Add(string(with(authorization, "\u2028")), "a/']")
	f.Fuzz(func(t *testing.T, file, names string) {
		var wanted []Account
		for name := range strings.SplitSeq(names, ",") {
			namespace, name, _ := strings.Cut(name, "/")
			wanted = append(wanted, Account{Namespace: namespace, Name: name})
		}
		for _, k := range kinds {
			before, unread := Read(k.kind, []byte(file))
			got, err := Replace(k.kind, []byte(file), wanted)
			if unread != nil && err == nil {
				t.Fatalf("written to what cannot be read: %v", unread)
			}
			if err != nil {
				continue
			}
			sorted, err := inOrder(wanted)
			if err != nil {
				t.Fatalf("written although %v", err)
			}
			if read, err := Read(k.kind, got); err != nil || !slices.Equal(read, sorted) {
				t.Fatalf("read %v (%v), want %v", read, err, sorted)
			}
			holdsTheRest(t, []byte(file), got, len(before))
			again, err := Replace(k.kind, got, wanted)
			if err != nil || !bytes.Equal(again, got) {
				t.Fatalf("a second time (%v):\n%s", err, again)
			}
		}
	})
}

// holdsTheRest compares the two files from both ends. The difference must be between brackets,
// and have only characters of a list.
func holdsTheRest(t *testing.T, before, after []byte, listed int) {
	t.Helper()
	if bytes.Equal(before, after) {
		return
	}
	start := 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	end := 0
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	for name, part := range map[string][]byte{"before": before[start : len(before)-end],
		"after": after[start : len(after)-end]} {
		if i := bytes.IndexFunc(part, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-:', \n\r\t\\\"", r)
		}); i >= 0 {
			t.Fatalf("%s, something else than a list of %d changed: %q", name, listed, part)
		}
	}
	if open, closed := bytes.LastIndexByte(after[:start], '['), bytes.LastIndexByte(after[:start], ']'); open < 0 ||
		closed > open {
		t.Fatalf("what changed is not between brackets:\n%s", after)
	}
}
