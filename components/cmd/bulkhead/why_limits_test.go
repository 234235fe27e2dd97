// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
)

func TestWhyLimits(t *testing.T) {
	const tooLong = "cannot explain the message: it is longer than 64 KiB"
	long := strings.Repeat("x", 66<<10) + " " + ofAccount
	for _, row := range []struct{ name, text, want string }{
		{"message", long, tooLong},
		{"message in JSON", `{"kind":"Status","apiVersion":"v1","message":"` + long[:65<<10] + `"}`, tooLong},
		{"JSON around a message", `{"message":"x is forbidden: no [NR-NODE-1]","x":"` + long[:64<<10] + `"}`, "NR-NODE-1"},
		{"event", strings.Replace(eventOfNode, "{", `{"requestURI":"`+long[:64<<10]+`",`, 1),
			"system:node:a get secrets n/s"},
		{"event with the message of a log shipper", strings.Replace(eventOfNode, "{", `{"message":"hello",`, 1),
			"system:node:a get secrets n/s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := runWhy(t, row.text, "-")
			if err != nil {
				got = err.Error()
			}
			if (err != nil) != (row.want == tooLong) || !strings.Contains(got, row.want) {
				t.Errorf("error %v, want %q in\n%.2000s", err, row.want, got)
			}
		})
	}
}

func TestRequestTimeoutOfWhy(t *testing.T) {
	kubeconfig := whyServer(t)
	for timeout, valid := range map[string]bool{"1h": true, "1s": true, "1h1s": false, "2562047h": false, "-1s": false} {
		_, err := runWhy(t, "", ofAccount, "--kubeconfig", kubeconfig, "--request-timeout="+timeout)
		if errors.As(err, &deniedError{}) {
			err = nil
		}
		if valid != (err == nil) || err != nil && !strings.Contains(err.Error(), "and at most 1h") {
			t.Errorf("%s: %v", timeout, err)
		}
	}
}

// TestNotesOfALiveMessage: -f is an error with a message, so no note asks for it alone.
func TestNotesOfALiveMessage(t *testing.T) {
	const create = `secrets is forbidden: User "system:node:worker-2" cannot create resource "secrets" in API group "" ` +
		`in the namespace "default"`
	got, err := runWhy(t, "", create+"\n"+ofAccount, "--kubeconfig", whyServer(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"To ask admission too, give USER VERB RESOURCE and -f.", "The text has several"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}
