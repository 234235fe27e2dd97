// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEncode(t *testing.T) {
	r := Record{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Problem: "p", Accounts: map[Account]State{
		{Namespace: "a", Name: "1"}: {}, {Namespace: "a", Name: "2"}: {Authorization: true},
		{Namespace: "b", Name: "3"}: {Admission: true}, {Namespace: "b", Name: "5"}: {true, true},
		{Namespace: "b", Name: "4"}: {true, true},
	}, Details: map[Account]Detail{
		{Namespace: "b", Name: "3"}: {Digest: "d3"},
		{Namespace: "b", Name: "4"}: {Digest: "d4", Since: time.Unix(7, 0).UTC()},
		{Namespace: "b", Name: "5"}: {Since: time.Unix(8, 0).UTC()},
	}}
	text, err := r.Encode()
	const want = `{"time":"2026-01-02T03:04:05Z","problem":"p","accounts":{"live":{"b":["4","5"]},"liveInAdmission":{"b":["3"]},"liveInAuthorization":{"a":["2"]},"pending":{"a":["1"]}},"details":{"b":{"3":"d3","4":"d4@7","5":"@8"}}}`
	if text != want || err != nil {
		t.Errorf("%v: got %s", err, text)
	}
	back, err := DecodeRecord(text)
	if diff := cmp.Diff(r, back); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "[]", "{"} {
		if _, err := DecodeRecord(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// Three hosts with a full list have room in one ConfigMap. Accounts that are pending keep
// none that is live from being told of.
func TestRoom(t *testing.T) {
	for _, length := range []int{20, 200, 253} {
		r := Record{Problem: strings.Repeat("\x00", 10000), Accounts: map[Account]State{},
			Details: map[Account]Detail{}}
		room := 99_000 // of a list
		for i := range MaxAccounts {
			account := Account{Namespace: fmt.Sprintf("%060d%03d", i, i%1000), Name: fmt.Sprintf("%0*d", length, i)}
			if room -= len(account.String()) + 29; room < 0 {
				break
			}
			r.Accounts[account] = State{true, true}
			r.Details[account] = Detail{Digest: DigestOfPod("x"), Since: time.Unix(1e10, 0)}
			// Another namespace asks for many, which no list has room for.
			for n := range 10 {
				r.Accounts[Account{Namespace: "0", Name: fmt.Sprintf("%0*d-%d", length-2, i, n)}] = State{}
			}
		}
		text, err := r.Encode()
		if err != nil || len(text) > MaxRecordBytes {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		back, err := DecodeRecord(text)
		if err != nil || len(back.Accounts)+back.Omitted != len(r.Accounts) {
			t.Errorf("%d: %d are told of and %d not, in %d bytes (%v)", length, len(back.Accounts), back.Omitted, len(text), err)
		}
		for account, state := range r.Accounts {
			if state != (State{}) &&
				(back.Accounts[account] != state || back.Details[account].Digest != r.Details[account].Digest) {
				t.Fatalf("%d: %v is not told of, and is live", length, account)
			}
		}
	}
}
