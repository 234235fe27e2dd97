// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCallBytes(t *testing.T) {
	const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YnVsa2hlYWQgZTJlIGtleQ==\r\n"
	for _, tc := range []struct {
		name string
		call Call
		who  Caller
		want string
	}{
		{"no header is added for a caller without credentials", Calling("GET", "//a/../b"), Anonymous(),
			"GET //a/../b HTTP/1.1\r\nHost: node:1\r\n\r\n"},
		{"a token is a header", Calling("GET", "/"), Caller{Token: "t"},
			"GET / HTTP/1.1\r\nHost: node:1\r\nAuthorization: Bearer t\r\n\r\n"},
		{"lines stay in order, twice the same too", Calling("GET", "/").With("A: 1", "A: 2"), Anonymous(),
			"GET / HTTP/1.1\r\nHost: node:1\r\nA: 1\r\nA: 2\r\n\r\n"},
		{"a body has a length", Calling("PUT", "/").Sending("four"), Anonymous(),
			"PUT / HTTP/1.1\r\nHost: node:1\r\nContent-Length: 4\r\n\r\nfour"},
		{"but for bytes that nothing is said of", Calling("PUT", "/").Then("four"), Anonymous(),
			"PUT / HTTP/1.1\r\nHost: node:1\r\n\r\nfour"},
		{
			"an upgrade has sub-protocols", Calling("GET", "/").Upgrading("a", "b"), Anonymous(),
			"GET / HTTP/1.1\r\nHost: node:1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + key +
				"Sec-WebSocket-Protocol: a, b\r\n\r\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, string(tc.call.Bytes("node:1", tc.who))); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCallsAreValues(t *testing.T) {
	base := Calling("GET", "/").With("A: 1")
	one, two := base.With("B: 1"), base.With("B: 2")
	if one.Header[1] != "B: 1" || two.Header[1] != "B: 2" || len(base.Header) != 1 {
		t.Errorf("base %v, one %v, two %v", base.Header, one.Header, two.Header)
	}
}

func TestReadFrame(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tc := range []struct {
		name, bytes string
		opcode      byte
		data        string
		fails       bool
	}{
		{"a short one", "\x82\x03\x01hi", 2, "\x01hi", false},
		{"an empty one", "\x88\x00", closing, "", false},
		{"one of more than 125 bytes", "\x82\x7e\x01\x2c" + long, 2, long, false},
		{"one whose length has eight bytes", "\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x02hi", 2, "hi", false},
		{"one that ends too soon", "\x82\x03\x01", 0, "", true},
		{"one that is too large", "\x82\x7f\x7f\x00\x00\x00\x00\x00\x00\x00", 0, "", true},
		{"none", "", 0, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opcode, data, err := readFrame(bytes.NewBufferString(tc.bytes))
			if opcode != tc.opcode || string(data) != tc.data || (err != nil) != tc.fails {
				t.Errorf("opcode %d, %q, %v", opcode, data, err)
			}
		})
	}
}

func TestWithFlags(t *testing.T) {
	got := withFlags([]string{"/proxy", "--mode=strict", "--port=1", "--portion=2"}, []string{"--port=3", "--new"})
	want := []string{"/proxy", "--mode=strict", "--portion=2", "--port=3", "--new"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}
