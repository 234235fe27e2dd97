// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// whyServer is an API server with one pod on worker-2 and one control-plane host. It allows all reviews
// of worker-2, and denies others. A dry run is denied by node-restriction.
func whyServer(t *testing.T) string {
	t.Helper()
	const denied = "no relationship found between node 'worker-1' and this object [NA-SECRET-1]"
	answers := map[string]string{
		"GET /api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"GET /apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"GET /api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[` +
			`{"name":"secrets","singularName":"secret","kind":"Secret","namespaced":true,"verbs":["get"]},` +
			`{"name":"nodes","singularName":"node","kind":"Node","verbs":["get"]}]}`,
		"GET /api/v1/persistentvolumes": `{"kind":"PersistentVolumeList","apiVersion":"v1","items":[]}`,
		"GET /api/v1/namespaces/default/pods": `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"web",` +
			`"namespace":"default"},"spec":{"nodeName":"worker-2","volumes":[{"name":"v","secret":{"secretName":"tls"}}]}}]}`,
		"GET /api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"cp-1"}}]}`,
		"GET /api/v1/nodes/cp-1/proxy/metrics/bulkhead/node-authorizer": `bulkhead_view_lag_seconds{resource="pods"} 41.6` +
			"\n",
		"GET /api/v1/namespaces/kube-system/configmaps/bulkhead-hosts": `{"kind":"ConfigMap","apiVersion":"v1","data":{` +
			`"cp-1":"{\"version\":\"v1\",\"profile\":\"hardened\",\"mode\":\"enforce\",\"image\":\"i\",\"configHash\":\"c\",` +
			`\"modes\":\"enforce, NR-NODESPEC-2=audit\",\"wiring\":\"w\"}"}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Query().Get("dryRun") == metav1.DryRunAll && req.Header.Get("Impersonate-User") != "" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden",` +
				`"message":"no providerID [NR-NODESPEC-2]"}`))
			return
		}
		if req.Method == http.MethodPost {
			review := authorizationv1.SubjectAccessReview{TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1",
				Kind: "SubjectAccessReview"}}
			review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: denied}
			if body, _ := io.ReadAll(req.Body); bytes.Contains(body, []byte("system:node:worker-2")) {
				review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "[NA-SECRET-1]"}
			}
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(review)
			return
		}
		answer, ok := answers[req.Method+" "+req.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL)
}

func TestWhyAsksTheCluster(t *testing.T) {
	kubeconfig := whyServer(t)
	node := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(node, []byte("apiVersion: v1\nkind: Node\nmetadata: {name: worker-2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const message = `secrets "tls" is forbidden: User "system:node:worker-1" cannot get resource "secrets" in API ` +
		`group "" in the namespace "default"`
	for _, row := range []struct {
		name   string
		args   []string
		denied bool
		want   []string
	}{
		{"denied", []string{"system:node:worker-1", "get", "secret", "tls"}, true,
			[]string{"Request:     system:node:worker-1 get secrets default/tls\n", "Rule:        NA-SECRET-1\n",
				"node worker-2 <- pod default/web <- secret default/tls\n", "Here:        always\n",
				"View:        on cp-1 at most 42 s old (pods)\n"}},
		{"another node: allowed", []string{"system:node:worker-2", "get", "secret", "tls"}, false,
			[]string{"Decision:    allowed at authorization\n", "Path:        node worker-2 <- pod default/web"}},
		{"a message", []string{message}, true,
			[]string{"Rule:        NA-SECRET-1\n", "Path:        no pod on node worker-1"}},
		{"a write", []string{"system:node:worker-2", "update", "nodes", "-f", node}, true,
			[]string{"Decision:    denied at admission\n", "Rule:        NR-NODESPEC-2\n", "Here:        audit\n"}},
		{"a write, authorization only", []string{"system:node:worker-2", "update", "nodes", "worker-2"}, false,
			[]string{"give the object with -f"}},
		{"json", []string{"system:node:worker-1", "get", "secret", "tls", "-o", "json"}, true,
			[]string{`"outcome": "denied"`, `"elsewhere": [`}},
		{"yaml", []string{"system:node:worker-1", "get", "secret", "tls", "-o", "yaml"}, true,
			[]string{"outcome: denied\n", "elsewhere:\n", "NA-SECRET-1\n"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := runWhy(t, "", append(row.args, "--kubeconfig", kubeconfig)...)
			if errors.As(err, &deniedError{}) != row.denied || err != nil && !row.denied {
				t.Errorf("error %v", err)
			}
			for _, want := range row.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %q in\n%s", want, got)
				}
			}
		})
	}
}

func TestRulesOfACluster(t *testing.T) {
	kubeconfig := whyServer(t)
	var out strings.Builder
	cmd := newRulesCommand()
	cmd.SetArgs([]string{"NR-NODESPEC-2", "--kubeconfig", kubeconfig})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil || !strings.Contains(out.String(), "\nHere:        audit\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestModeOfOneRule: `bulkhead rules ID` without --live tries the default kubeconfig, and must neither fail
// nor wait for long.
func TestModeOfOneRule(t *testing.T) {
	const unknown = "\nHere:        not known; ask the cluster with `bulkhead rules NR-NODESPEC-2 --live`\n"
	exec := filepath.Join(t.TempDir(), "exec")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: \"https://192.0.2.1\"}}]\nusers: [{name: u, user: {exec: {apiVersion: " +
		"client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/false}}}]\n"
	if err := os.WriteFile(exec, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, kubeconfig string
		args             []string
		want             string
		longest          time.Duration
	}{
		{"the cluster answers", whyServer(t), nil, "\nHere:        audit\n", quickTimeout},
		{"no kubeconfig", filepath.Join(t.TempDir(), "none"), nil, unknown, quickTimeout / 2},
		{"no answer", silentServer(t), nil, unknown, 2 * quickTimeout},
		{"a program authenticates", exec, nil, unknown, quickTimeout / 2},
		{"not wanted", silentServer(t), []string{"--live=false"}, "allow: ", quickTimeout / 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", row.kubeconfig)
			var out strings.Builder
			cmd := newRulesCommand()
			cmd.SetArgs(append(row.args, "NR-NODESPEC-2"))
			cmd.SetOut(&out)
			begun := time.Now()
			if err := cmd.Execute(); err != nil || !strings.Contains(out.String(), row.want) {
				t.Errorf("%v\n%s", err, out.String())
			}
			if took := time.Since(begun); took > row.longest {
				t.Errorf("it took %v", took)
			}
		})
	}
}
