// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import "testing"

func TestKernelAddress(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an address", "0100007F:1F90", "127.0.0.1:8080"},
		{"no address", "", ":0"},
		{"IPv6", "0000000000000000FFFF00000100007F:1F90", ":0"},
		{"a port that is too large", "0100007F:1F900", ":0"},
		{"not hexadecimal", "127.0.0.1:8080", ":0"},
	} {
		if got := kernelAddress(tt.text).String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
