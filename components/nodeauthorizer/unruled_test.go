// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// A reason that is kept is told only to who asked the same, however the parts of the
// request are cut.
func TestNoRule(t *testing.T) {
	for range 2 {
		for _, row := range []struct {
			request request
			want    string
		}{
			{request{Verb: "get", Resource: "deployments", APIGroup: "apps"}, "no rule allows a node to get deployments.apps [NA-DEFAULT]"},
			{request{Verb: "get", Resource: "deployment", APIGroup: "xapps"}, "no rule allows a node to get deployment.xapps [NA-DEFAULT]"},
			{request{Verb: "get", Resource: "deploymentsapps"}, "no rule allows a node to get deploymentsapps [NA-DEFAULT]"},
			{request{Verb: "get", Resource: "nodes", Subresource: "proxy"}, "no rule allows a node to get nodes/proxy [NA-DEFAULT]"},
			{request{Verb: "get", Resource: "nodes", Subresource: "proxx"}, "no rule allows a node to get nodes/proxx [NA-DEFAULT]"},
			{request{Verb: "put", Resource: "nodes", Subresource: "proxy"}, "no rule allows a node to put nodes/proxy [NA-DEFAULT]"},
			{request{Verb: "get", Resource: "x", APIGroup: "apps", Subresource: "scale"}, "no rule allows a node to get x.apps/scale [NA-DEFAULT]"},
			{request{Verb: "get", Resource: "x", APIGroup: "scal", Subresource: "eapps"}, "no rule allows a node to get x.scal/eapps [NA-DEFAULT]"},
			{request{}, "no rule allows a node to   [NA-DEFAULT]"},
		} {
			if got := noRule(nothingElse, &row.request).reason(nil); got != row.want {
				t.Errorf("%+v: %q, want %q", row.request, got, row.want)
			}
		}
	}
}

func TestNoRuleKeepsNothingLong(t *testing.T) {
	r := promise(nothingElse.Rule)
	for _, length := range []int{1, longestUnruled, 1 << 20} {
		noRule(r, &request{Verb: strings.Repeat("x", length)})
	}
	kept := 0
	for i := range r.unruled {
		if made := r.unruled[i].Load(); made != nil {
			kept += len(made.reason)
		}
	}
	if kept == 0 || kept > longestUnruled {
		t.Errorf("%d bytes are kept", kept)
	}
}

func TestNoRuleAllocatesOnce(t *testing.T) {
	a := request{Verb: "get", Resource: "nodes", Subresource: "proxy"}
	want := refuseBy(nothingElse, noRule(nothingElse, &a).text)
	if diff := gocmp.Diff(0.0, testing.AllocsPerRun(100, func() {
		if noRule(nothingElse, &a) != want {
			t.Error("another reason")
		}
	})); diff != "" {
		t.Errorf("allocations (-want +got):\n%s", diff)
	}
}
