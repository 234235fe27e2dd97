// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	ofAccount = `secrets "s" is forbidden: User "system:serviceaccount:n:s" cannot get resource "secrets" in API group ` +
		`"" in the namespace "default"`
	ofNode = `pods is forbidden: User "system:node:worker-1" cannot list resource "pods" in API group "" at the cluster ` +
		`scope: can only list/watch pods with spec.nodeName field selector`
	eventOfNode = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"get",` +
		`"user":{"username":"system:node:a","groups":["system:nodes"]},"objectRef":{"resource":"secrets",` +
		`"namespace":"n","name":"s","apiVersion":"v1"},"responseStatus":{"code":403},"annotations":{` +
		`"authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":"no [NA-SECRET-1]"}}`
)

func TestFlagsWithAMessage(t *testing.T) {
	kubeconfig := whyServer(t)
	live := func(args ...string) []string { return append(args, "--kubeconfig", kubeconfig) }
	const withoutNode, admission = "a token without a node", `nodes "a" is forbidden: no [NR-NODE-1]`
	for _, row := range []struct {
		name, message string
		args          []string
		want, not     string
	}{
		{"account, live", ofAccount, live(), withoutNode, ""},
		{"account and node, live", ofAccount, live("--node-name=worker-9"),
			"Path:        no pod on node worker-9 uses secret default/s", withoutNode},
		{"node name of a node", ofNode, []string{"--node-name=a"},
			"cannot use --node-name for user system:node:worker-1", ""},
		{"node name without a request", admission, []string{"--node-name=a"}, "cannot use --node-name: the message does", ""},
		{"node name and an audit line", eventOfNode, []string{"--node-name=a"}, "cannot use --node-name with a line of", ""},
		{"group of a node", strings.Replace(ofAccount, "system:serviceaccount:n:s", "alice", 1),
			[]string{"--as-group=system:nodes"}, "Do not bind a role to a node", "create role"},
		{"group and an audit line", eventOfNode, []string{"--as-group=g"}, "cannot use --as-group with a line of", ""},
		{"selector", ofNode, []string{"--field-selector=spec.nodeName=a"}, "with field selector spec.nodeName=a", ""},
		{"selector of a get", ofAccount, []string{"--field-selector=a=b"}, "cannot use --field-selector with verb get", ""},
		{"namespace", ofAccount, []string{"-n", "m"}, "cannot use -n with a message", ""},
		{"all namespaces", ofAccount, live("-A"), "cannot use -A with a message", ""},
		{"file", ofAccount, []string{"-f", "x"}, "cannot use -f with a message", ""},
		{"Status in JSON", `{"kind":"Status","apiVersion":"v1","message":"nodes \"a\" is forbidden: no [NR-NODE-1]"}`, nil,
			"Rule:        NR-NODE-1\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := runWhy(t, "", append([]string{row.message}, row.args...)...)
			if err != nil && !errors.As(err, &deniedError{}) {
				got = err.Error()
			}
			if !strings.Contains(got, row.want) || row.not != "" && strings.Contains(got, row.not) {
				t.Errorf("want %q, not %q, in\n%s", row.want, row.not, got)
			}
		})
	}
}

// silentServer returns a kubeconfig for a server that never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-ended:
		case <-req.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(ended)
		server.Close()
	})
	return kubeconfigOf(t, server.URL)
}

func TestAServerThatDoesNotAnswer(t *testing.T) {
	kubeconfig := silentServer(t)
	for _, row := range []struct {
		name     string
		args     []string
		timeout  string
		progress bool
	}{
		{"question", []string{"system:node:a", "get", "secrets", "s"}, "100ms", false},
		{"message", []string{ofAccount}, "100ms", false},
		{"message, with progress", []string{ofAccount}, "2100ms", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, err := runWhy(t, "", append(row.args, "--kubeconfig", kubeconfig, "--request-timeout="+row.timeout)...)
			for _, want := range []string{"check the kubeconfig, and that its server answers", "give --request-timeout"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
			if strings.Contains(out, "checking with the API server\n") != row.progress {
				t.Errorf("printed %q", out)
			}
		})
	}
	_, err := runWhy(t, "", ofAccount, "--kubeconfig", kubeconfig, "--request-timeout=0")
	if err == nil || !strings.Contains(err.Error(), "must be more than 0") {
		t.Errorf("no timeout: %v", err)
	}
}
