// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestContextSelectsTheCluster: the current context of the kubeconfig names another API server than the
// context "second".
func TestContextSelectsTheCluster(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	text := `{"apiVersion":"v1","kind":"Config","current-context":"first","contexts":[` +
		`{"name":"first","context":{"cluster":"first"}},{"name":"second","context":{"cluster":"second"}}],"clusters":[` +
		`{"name":"first","cluster":{"server":"` + closed.URL + `"}},` +
		`{"name":"second","cluster":{"server":"` + server.URL + `"}}]}`
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	for _, command := range []string{"doctor", "audit", "status --cluster", "kubelet-access", "scope list",
		"scope suggest a/b --audit-log=/dev/null", "revoke --node=a", "revoke list", "revoke remove NODE=a"} {
		for context, asked := range map[string]bool{"": false, "--context=first": false, "--context=second": true,
			"--kubeconfig=" + kubeconfig + " --context=second": true, "--context=third": false} {
			requests.Store(0)
			root := newRootCommand()
			root.SetOut(&strings.Builder{})
			root.SetErr(&strings.Builder{})
			root.SetArgs(strings.Fields(command + " " + context))
			err := root.ExecuteContext(t.Context())
			if err == nil || (requests.Load() > 0) != asked {
				t.Errorf("%s %s: %d requests, error %v", command, context, requests.Load(), err)
			}
			if absent := context == "--context=third"; absent != strings.Contains(err.Error(), `"third" does not exist`) {
				t.Errorf("%s %s: error %v", command, context, err)
			}
		}
	}
}

// TestMeantClusters: on a control-plane host, these must not fall back to the cluster of the host.
func TestMeantClusters(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(home, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	empty := write("empty", "")
	noCurrent := write("no-current", `{"apiVersion":"v1","kind":"Config",`+
		`"clusters":[{"name":"a","cluster":{"server":"https://a"}}]}`)
	for _, tc := range []struct {
		name, env string
		flags     clusterFlags
		want      bool
	}{
		{"nothing", "", clusterFlags{}, false},
		{"a file that does not exist", filepath.Join(home, "typo"), clusterFlags{}, true},
		{"an empty file", empty, clusterFlags{}, true},
		{"no current context", noCurrent, clusterFlags{}, true},
		{"a flag with a file", "", clusterFlags{kubeconfig: noCurrent}, true},
		{"a flag with a context", "", clusterFlags{context: "a"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.env)
			if got := tc.flags.meansACluster(); got != tc.want {
				t.Errorf("the user means a cluster: %v, want %v", got, tc.want)
			}
		})
	}
}
