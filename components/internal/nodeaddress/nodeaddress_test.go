// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeaddress

import (
	"strings"
	"testing"
)

func TestDialable(t *testing.T) {
	for _, address := range []string{
		"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "node-1", "Node_1.example.", "3f2a9c1b8d7e", "1.2.3.4x", "svc",
		strings.Repeat("a", 253),
	} {
		if !Dialable(address) {
			t.Errorf("%.40q is nobody's", address)
		}
	}
	for _, address := range []string{
		"", ".", "127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "169.254.0.1", "fe80::1",
		"fe80::1%eth0",
		"224.0.0.1", "ff02::1", "ff01::1", "localhost", "LOCALHOST.", "localhost.localdomain", "a.localhost", "ip6-loopback",
		"127.1", "2130706433", "0x7f000001", "0177.0.0.1", "a.1", "a b", "a/b", "*.example", "é", strings.Repeat("a", 254),
	} {
		if Dialable(address) {
			t.Errorf("%.40q is somebody's", address)
		}
	}
}

func TestCanonical(t *testing.T) {
	for given, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:DB8:0::1": "2001:db8::1",
		"Node-1.Example.": "node-1.example", "fe80::1%eth0": "fe80::1%eth0",
	} {
		if got := Canonical(given); got != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
}
