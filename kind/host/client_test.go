// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"strings"
	"testing"
)

func TestCandidates(t *testing.T) {
	for _, tc := range []struct {
		name, chosen string
		installed    []string
		want         []string
		err          string
	}{
		{"only Docker", "", []string{"docker"}, []string{"docker"}, ""},
		{"kind's order: Docker, nerdctl, podman", "", []string{"podman", "nerdctl", "docker"},
			[]string{"docker", "nerdctl", "podman"}, ""},
		{"only podman", "", []string{"podman"}, []string{"podman"}, ""},
		{"nothing: Docker, whose error says how to install it", "", nil, []string{"docker"}, ""},
		{"podman chosen although Docker is installed", "podman", []string{"docker", "podman"}, []string{"podman"}, ""},
		{"finch only if chosen", "", []string{"finch"}, []string{"docker"}, ""},
		{"finch chosen", "finch", nil, []string{"finch"}, ""},
		{"unknown to kind", "rkt", []string{"docker"}, nil, `cannot use the engine "rkt" of KIND_EXPERIMENTAL_PROVIDER`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := candidates(tc.chosen, func(program string) bool { return slices.Contains(tc.installed, program) })
			if !slices.Equal(got, tc.want) {
				t.Errorf("candidates %q, want %q", got, tc.want)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestReference(t *testing.T) {
	const digest = "@sha256:0123"
	for _, tc := range []struct{ client, image, want string }{
		{"docker", "kindest/node:v1.37.1" + digest, "kindest/node:v1.37.1" + digest},
		{"nerdctl", "kindest/node:v1.37.1", "kindest/node:v1.37.1"},
		{"podman", "kindest/node:v1.37.1" + digest, "docker.io/kindest/node" + digest},
		{"podman", "kindest/node:v1.37.1", "docker.io/kindest/node:v1.37.1"},
		{"podman", "127.0.0.1:5000/kindest/node:v1" + digest, "127.0.0.1:5000/kindest/node" + digest},
		{"podman", "localhost/node", "localhost/node"},
		{"podman", "bulkhead.local/node:v1", "bulkhead.local/node:v1"},
	} {
		if got := (Engine{client: tc.client}).Reference(tc.image); got != tc.want {
			t.Errorf("%s, %s: %s, want %s", tc.client, tc.image, got, tc.want)
		}
	}
}
