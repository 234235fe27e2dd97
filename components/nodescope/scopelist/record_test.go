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
	const want = `{"time":"2026-01-02T03:04:05Z","problem":"p",` +
		`"accounts":{"live":{"b":["4","5"]},"liveInAdmission":{"b":["3"]},` +
		`"liveInAuthorization":{"a":["2"]},"pending":{"a":["1"]}},` +
		`"details":{"b":{"3":"d3","4":"d4@7","5":"@8"}}}`
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

// The records of three hosts with a full list fit into one ConfigMap. Pending accounts never
// displace a live one.
func TestRecordsFitIntoOneConfigMap(t *testing.T) {
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
			// Another namespace has many pending accounts, more than fit into a list.
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

// Each of these has different annotations, and so a different digest.
func TestDigests(t *testing.T) {
	const scope, mode, exemptions = "bulkhead.dev/node-scoped-resources", "bulkhead.dev/node-scope-mode",
		"bulkhead.dev/node-scoped-exemptions"
	pods := func(values ...string) map[string]struct{} {
		all := map[string]struct{}{}
		for _, value := range values {
			all[DigestOfPod(value)] = struct{}{}
		}
		return all
	}
	account := func(keysAndValues ...string) string {
		annotations := map[string]string{"other": "x"}
		for i := 0; i < len(keysAndValues); i += 2 {
			annotations[keysAndValues[i]] = keysAndValues[i+1]
		}
		return DigestOfAccount(annotations)
	}
	seen := map[string]string{}
	for name, digest := range map[string]string{
		"nothing":               Digest(account(), nil),
		"a scope":               Digest(account(scope, "pods"), nil),
		"an empty scope":        Digest(account(scope, ""), nil),
		"another scope":         Digest(account(scope, "pods,nodes"), nil),
		"a scope in audit":      Digest(account(scope, "pods", mode, "audit"), nil),
		"a mode alone":          Digest(account(mode, "audit"), nil),
		"a pod's scope":         Digest(account(), pods("pods")),
		"two pods' scopes":      Digest(account(), pods("pods", "nodes")),
		"a scope and a pod's":   Digest(account(scope, "pods"), pods("pods")),
		"values run together":   Digest(account(scope, "pods"+exemptions+"taints"), nil),
		"a scope, an exemption": Digest(account(scope, "pods", exemptions, "taints"), nil),
	} {
		if other, twice := seen[digest]; twice {
			t.Errorf("%q and %q have the same digest", name, other)
		}
		seen[digest] = name
		if (digest == "") != (name == "nothing") {
			t.Errorf("%s: %q", name, digest)
		}
	}
	if Digest(account(scope, "pods"), pods("a", "b")) != Digest(account(scope, "pods"), pods("b", "a", "a")) {
		t.Error("the order of pods counts")
	}
}

// The text in the ConfigMap can be anything. DecodeRecord never panics. A decoded record fits
// when it is encoded again. No account becomes live by decoding and encoding.
func FuzzDecodeRecord(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"accounts":{"live":{"b":["4"]},"pending":{"a":["1"]}},"details":{"b":{"4":"d4@7"}}}`,
		`{"details":{"b":{"4":"@"}}}`, `{"details":{"b":{"4":"@99999999999999999999"}}}`,
		`{"accounts":{"live":null},"details":null,"omitted":-1}`,
		`{"accounts":{"live":{"b":["4"]},"pending":{"b":["4"]}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := DecodeRecord(text)
		if err != nil {
			return
		}
		again, err := r.Encode()
		if err != nil || len(again) > MaxRecordBytes && len(text) <= MaxRecordBytes {
			t.Fatalf("%d bytes, %v", len(again), err)
		}
		back, err := DecodeRecord(again)
		if err != nil {
			t.Fatal(err)
		}
		for account, state := range back.Accounts {
			if was := r.Accounts[account]; state.Authorization && !was.Authorization || state.Admission && !was.Admission {
				t.Fatalf("%v was %+v and is %+v", account, was, state)
			}
		}
	})
}
