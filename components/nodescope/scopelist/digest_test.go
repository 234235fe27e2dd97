// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import "testing"

// Each of these says something else, and none says it by the stateNames of another.
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
