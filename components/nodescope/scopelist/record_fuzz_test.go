// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import "testing"

// Whatever is in the ConfigMap: no panic, a record that fits into its room again, and no
// account that becomes live by being read and written once more.
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
