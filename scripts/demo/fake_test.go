// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
)

// fakeCluster is a cluster that answers as the real one did when the demo was written. It keeps the
// order of all calls.
type fakeCluster struct {
	is settings
	// calls has an entry for each call: "switch PROFILE", or the node and the first line of a script.
	calls []string
	// done are the calls that were not interrupted and did not fail.
	done []string
	// answers replace the answer of a script that contains the key, one after the other.
	answers map[string][]string
	// before is called before each call, for example to interrupt the demo.
	before func(call string) error
	// brokenSwitch is the error of each switch to that profile.
	brokenSwitch map[string]error
}

func (f *fakeCluster) note(call string) error {
	f.calls = append(f.calls, call)
	if f.before != nil {
		return f.before(call)
	}
	return nil
}

func (f *fakeCluster) run(ctx context.Context, node, script string) (string, error) {
	first, _, _ := strings.Cut(script, "\n")
	if err := f.note(node + ": " + first); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	f.done = append(f.done, node+": "+first)
	for key, answers := range f.answers {
		if strings.Contains(script, key) && len(answers) > 0 {
			f.answers[key] = answers[1:]
			return answers[0], nil
		}
	}
	for _, a := range usual {
		if strings.Contains(script, a.key) {
			if f.is.profile == inTree {
				return a.inTree, nil
			}
			return a.hardened, nil
		}
	}
	return "", nil
}

func (f *fakeCluster) output(ctx context.Context, node, script string) (string, error) {
	return f.run(ctx, node, script)
}

func (f *fakeCluster) installed(context.Context) (settings, error) { return f.is, nil }

func (f *fakeCluster) switchTo(ctx context.Context, want settings, step func(string)) error {
	if err := f.note(fmt.Sprintf("switch %s %t %t", want.profile, want.kubeletAPI, want.nodeScope)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := f.brokenSwitch[want.profile]; err != nil {
		return err
	}
	step("  ✓ installing the profile " + want.profile + " (25s)")
	f.is = want
	return nil
}

// usual are the answers of both profiles to the commands that have the key.
var usual = []struct{ key, inTree, hardened string }{
	{"auth whoami", "Username system:node:bulkhead-worker\n", "Username system:node:bulkhead-worker\n"},
	{"get secret shop-password", "open-sesame", "open-sesame"},
	{"get secret old-password", "still-valid", "is related only through pods that have ended [NA-POD-6]\n"},
	{"get secrets -n demo-payments", "card-key   Opaque   1      5s\n", "No Object name found [NA-SECRET-2]\n"},
	{"create token", "2036-11-23T09:16:01Z", "are the most that the pod or the policy asks for [NR-SA-6]\n"},
	{"kubectl uncordon", "node/bulkhead-worker uncordoned\n", "may not make itself schedulable [NR-CORDON-1]\n"},
	{"kubectl get node bulkhead-worker -o jsonpath", "", ""},
	{"kubectl get node bulkhead-worker", "bulkhead-worker   Ready    <none>   20m   v1.37.1\n",
		"bulkhead-worker   Ready,SchedulingDisabled   <none>   21m   v1.37.1\n"},
	{"journalctl", `"Creating a mirror pod for static pod"` + "\n",
		`"Failed creating a mirror pod" err="[NR-MIRROR-1]"` + "\n"},
	{"get endpointslices", "bulkhead-control-plane bulkhead-worker", "bulkhead-control-plane"},
	{"curl -sk", "\x82\x15\x01the-key-of-all-cards\x88\x02\x03\xe8", "Forbidden (user=x) [KA-EXEC-1]\n"},
}
