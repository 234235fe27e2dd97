// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopestate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

func TestEncode(t *testing.T) {
	r := Record{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Problem: "p", Accounts: map[scopelist.Account]State{
		{Namespace: "a", Name: "1"}: {}, {Namespace: "a", Name: "2"}: {Authorization: true},
		{Namespace: "b", Name: "3"}: {Admission: true}, {Namespace: "b", Name: "5"}: {true, true}, {Namespace: "b", Name: "4"}: {true, true},
	}}
	text, err := r.Encode()
	const want = `{"time":"2026-01-02T03:04:05Z","problem":"p","accounts":{"live":{"b":["4","5"]},"liveInAdmission":{"b":["3"]},"liveInAuthorization":{"a":["2"]},"pending":{"a":["1"]}}}`
	if text != want || err != nil {
		t.Errorf("%v: got %s", err, text)
	}
	back, err := Decode(text)
	if diff := cmp.Diff(r, back); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "[]", "{"} {
		if _, err := Decode(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// Three hosts with a full list have room in one ConfigMap, and who finds no place is
// pending.
func TestRoom(t *testing.T) {
	for _, length := range []int{20, 200, 253} {
		r := Record{Problem: strings.Repeat("\x00", 10000), Accounts: map[scopelist.Account]State{}}
		for i := range scopelist.MaxAccounts {
			r.Accounts[scopelist.Account{Namespace: fmt.Sprintf("%060d%03d", i, i%1000), Name: fmt.Sprintf("%0*d", length, i)}] = State{true, true}
		}
		text, err := r.Encode()
		if err != nil || len(text) > MaxBytes {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		back, err := Decode(text)
		if err != nil || len(back.Accounts)+back.Omitted != len(r.Accounts) || length < 253 && back.Omitted > 0 {
			t.Errorf("%d: %d are told of and %d not, in %d bytes (%v)", length, len(back.Accounts), back.Omitted, len(text), err)
		}
	}
}
