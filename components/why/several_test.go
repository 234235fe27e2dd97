// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestOnlyTheFirstMessageIsExplained(t *testing.T) {
	const (
		server = "Error from server (Forbidden): "
		secret = `secrets "a" is forbidden: User "system:node:w" cannot get resource "secrets" in API group "" in the ` +
			`namespace "n"`
		pods    = `pods is forbidden: User "v" cannot list resource "pods" in API group "" in the namespace "m"`
		node    = `nodes "b" is forbidden: no [NR-NODE-1]`
		request = "system:node:w get secrets n/a"
		mount   = `MountVolume.SetUp failed for volume "v" : `
		klog    = `E1129 10:00:00.000000 1 a.go:1] "Failed" err="`
	)
	for _, row := range []struct {
		name, text, request string
		rules               []rules.ID
		several             bool
	}{
		{"one", server + secret + ": no [NA-SECRET-1]\n", request, []rules.ID{"NA-SECRET-1"}, false},
		{"lines of kubectl", server + secret + ": no [NA-SECRET-1]\n" + server + pods + ": no [NA-POD-2]\n", request,
			[]rules.ID{"NA-SECRET-1"}, true},
		{"Windows lines", server + secret + "\r\n" + server + pods + ": no [NA-POD-2]", request,
			[]rules.ID{"NA-SECRET-1"}, true},
		{"one line", server + secret + ": no [NA-SECRET-1] " + server + pods + ": no [NA-POD-2]", request,
			[]rules.ID{"NA-SECRET-1"}, true},
		{"second is wrapped", secret + "\nError from server\n(Forbidden): pods is forbidden: User\n\"v\" cannot list",
			request, []rules.ID{"NA-SECRET-1"}, true},
		{"joined", "[" + secret + ", " + pods + ": no [NA-POD-2]]", request, []rules.ID{"NA-SECRET-1"}, true},
		{"events", mount + secret + "\n  Warning  " + mount + pods + ": no [NA-POD-2]", request,
			[]rules.ID{"NA-SECRET-1"}, true},
		{"first has no name", pods + "\n" + secret + ": no [NA-SECRET-1]", "v list pods in namespace m", nil, true},
		{"then admission", server + secret + ": no [NA-SECRET-1]\n" + server + node, request,
			[]rules.ID{"NA-SECRET-1"}, true},
		{"admission is the first", server + node + "\n" + server + secret, "", []rules.ID{"NR-NODE-1"}, true},
		{"lines of a log", klog + quotedOnce.Replace(secret) + "\"\n" + klog + quotedOnce.Replace(pods) + `"`, request,
			[]rules.ID{"NA-SECRET-1"}, true},
		{"other text of kubectl", "error: x\n" + server + secret, request, []rules.ID{"NA-SECRET-1"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, text := explained(t, ParseMessage(row.text))
			var ids []rules.ID
			for _, r := range a.Rules {
				ids = append(ids, r.ID)
			}
			if a.Request != row.request || !slices.Equal(ids, row.rules) {
				t.Errorf("request %q by %v, want %q by %v", a.Request, ids, row.request, row.rules)
			}
			if got := strings.Contains(text, onlyFirst); got != row.several {
				t.Errorf("several messages: %v\n%s", got, text)
			}
			for _, other := range []string{`User "v"`, "Error from", "NA-POD-2"} {
				if row.request == request && strings.Contains(a.Reason, other) {
					t.Errorf("%q in the reason %q", other, a.Reason)
				}
			}
		})
	}
}

func TestNoRoleWithoutCredentials(t *testing.T) {
	group := func(groups ...string) *Request {
		return &Request{User: "u", Groups: groups, Verb: "get", Resource: "secrets", Namespace: "n", Name: "s"}
	}
	for name, row := range map[string]struct {
		request *Request
		want    string
	}{
		"system:anonymous":                   {request(t, "system:anonymous", "get", "secrets", "n", "s"), notForAnonymous},
		"user system:unauthenticated":        {request(t, "system:unauthenticated", "get", "pods", "", ""), notForAnonymous},
		"group system:unauthenticated":       {group("system:unauthenticated"), notForAnonymous},
		"system:bootstrap:abcdef":            {request(t, "system:bootstrap:abcdef", "get", "nodes", "", "s"), notForTokens},
		"user system:bootstrappers":          {request(t, "system:bootstrappers", "get", "nodes", "", "s"), notForTokens},
		"group system:bootstrappers":         {group("system:bootstrappers"), notForTokens},
		"group system:bootstrappers:kubeadm": {group("system:bootstrappers:kubeadm", "system:authenticated"), notForTokens},
		"other group":                        {group("system:bootstrappersx"), "kubectl -n n create role "},
	} {
		_, text := explained(t, Denial{Request: row.request, Message: "no"})
		role := strings.Contains(text, "kubectl") || strings.Contains(text, "RBAC: a ")
		if !strings.Contains(text, row.want) || role != strings.HasPrefix(row.want, "kubectl") {
			t.Errorf("%s: want %q in\n%s", name, row.want, text)
		}
	}
	_, text := explained(t, ParseMessage("Forbidden (user=system:anonymous, verb=get, resource=nodes, "+
		"subresource(s)=[pods])"))
	if !strings.Contains(text, notForAnonymous) || strings.Contains(text, "RBAC: a ") {
		t.Errorf("kubelet:\n%s", text)
	}
}

// TestEventsOfLogShippers: they add fields to an event.
func TestEventsOfLogShippers(t *testing.T) {
	for _, name := range []string{"message", "err", "error"} {
		line := strings.Replace(string(eventLine(t)), "{", `{"`+name+`":"nodes \"a\" is forbidden: no [NR-NODE-1]",`, 1)
		if message, ok := MessageOf([]byte(line)); ok {
			t.Errorf("%s: message %q", name, message)
		}
		d, err := ParseEvent([]byte(line))
		if err != nil || d.Request == nil || d.Request.String() != "system:node:a get secrets n/s" {
			t.Errorf("%s: %v, %+v", name, err, d.Request)
		}
	}
}
