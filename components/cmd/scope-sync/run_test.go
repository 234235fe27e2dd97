// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
)

const authorizationTemplate = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
  - type: Webhook
    name: node-scope.bulkhead.dev
    webhook:
      connectionInfo: {type: KubeConfigFile, kubeConfigFile: KUBECONFIG}
      subjectAccessReviewVersion: v1
      matchConditionSubjectAccessReviewVersion: v1
      timeout: 3s
      failurePolicy: Deny
      authorizedTTL: 1s
      unauthorizedTTL: 1s
      matchConditions:
        - expression: ` + scopelist.AuthorizationExpression + `
  - type: RBAC
    name: rbac
`

const admissionTemplate = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: node-scope.bulkhead.static.k8s.io
webhooks:
  - name: node-scope.bulkhead.dev
    admissionReviewVersions: ["v1"]
    clientConfig: {url: "https://127.0.0.1:10463/node-scope", caBundle: BUNDLE}
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 2
    matchConditions:
      - name: accounts
        expression: ` + scopelist.AdmissionExpression + `
    rules:
      - {apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"], scope: "*"}
`

// admissionFile returns the webhook's configuration with an empty list.
func admissionFile(t *testing.T) []byte {
	t.Helper()
	bundle := base64.StdEncoding.EncodeToString(testpki.NewCA(t, "test").PEM())
	return []byte(strings.Replace(admissionTemplate, "BUNDLE", bundle, 1))
}

// host has the files of a control-plane host, and the API server that reads them.
type host struct {
	options *options
	mu      sync.Mutex
	record  string
	events  []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{options: defaultOptions()}
	o := h.options
	o.nodeName, o.kubeconfig, o.heartbeat = "cp-1", filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "heartbeat")
	o.authorization, o.admission = filepath.Join(dir, "authorization.yaml"),
		filepath.Join(dir, "static", "node-scope.yaml")
	server := httptest.NewServer(h)
	t.Cleanup(server.CloseClientConnections)
	o.authorizerHealth, o.restrictionHealth = server.URL, server.URL
	err := os.Mkdir(filepath.Join(dir, "static"), 0o700)
	for path, text := range map[string]string{
		o.kubeconfig: fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, server.URL),
		o.authorization: strings.Replace(authorizationTemplate, "KUBECONFIG", o.kubeconfig, 1),
		o.admission:     string(admissionFile(t)),
		filepath.Join(dir, "static", "other.yaml"): "# read together with ours\n",
	} {
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ServeHTTP is an API server with one annotated account. It has always loaded the files that
// are on the disk.
func (h *host) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	resource := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	kinds := map[string]string{"serviceaccounts": "ServiceAccount", "pods": "Pod"}
	switch {
	case req.URL.Path == scopesync.SeenPath:
		// The components have seen the same versions as the API server.
		fmt.Fprint(w, `{"serviceaccounts":"2","pods":"2"}`)
		return
	case req.URL.Path == "/metrics":
		h.metrics(w)
		return
	case req.Method == http.MethodPatch || req.Method == http.MethodPost:
		h.take(resource, string(body))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if req.URL.Query().Get("watch") == "" {
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"2"},"items":[]}`, kinds[resource])
		return
	}
	if resource == "serviceaccounts" {
		fmt.Fprint(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ServiceAccount",
			"metadata":{"namespace":"ns","name":"agent","uid":"1","resourceVersion":"1",
			"annotations":{"bulkhead.dev/node-scoped-resources":"pods"}}}}`+"\n")
	}
	for end := `"annotations":{"k8s.io/initial-events-end":"true"},`; req.Context().Err() == nil; end = "" {
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":%q,"metadata":{%s"resourceVersion":"2"}}}`+"\n",
			kinds[resource], end)
		w.(http.Flusher).Flush()
		time.Sleep(50 * time.Millisecond)
	}
}

func (h *host) metrics(w io.Writer) {
	authorization, _ := os.ReadFile(h.options.authorization)
	admission, _ := apiserver.ManifestsHash(filepath.Dir(h.options.admission))
	fmt.Fprintf(w, "apiserver_authorization_config_controller_last_config_info{"+
		"apiserver_id_hash=\"sha256:1\",hash=\"sha256:%x\"} 1\n", sha256.Sum256(authorization))
	fmt.Fprintf(w, "apiserver_manifest_admission_config_controller_last_config_info{"+
		"apiserver_id_hash=\"sha256:1\",hash=%q,plugin=\"ValidatingAdmissionWebhook\"} 1\n", admission)
}

func (h *host) take(resource, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if resource == "events" {
		h.events = append(h.events, body)
		return
	}
	var patch struct{ Data map[string]string }
	if err := json.Unmarshal([]byte(body), &patch); err == nil && resource == scopelist.RecordsName {
		h.record = patch.Data["cp-1"]
	}
}

// state returns the account's state in the record.
func (h *host) state() (scopelist.State, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	record, err := scopelist.DecodeRecord(h.record)
	if err != nil {
		return scopelist.State{}, false
	}
	state, known := record.Accounts[scopelist.Account{Namespace: "ns", Name: "agent"}]
	return state, known
}

// This test runs the whole program. One annotation adds two list entries. The API server's own
// loaders accept the files, and the record shows the state that the server reports.
func TestRun(t *testing.T) {
	h := newHost(t)
	c, err := h.options.config()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, c) }()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if state, known := h.state(); known && state == (scopelist.State{Authorization: true, Admission: true}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the record is %s", h.record)
		}
		time.Sleep(50 * time.Millisecond)
	}
	// The heartbeat is written after the record.
	for err := scopesync.CheckHeartbeat(c.heartbeat, time.Minute, true); err != nil; {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		err = scopesync.CheckHeartbeat(c.heartbeat, time.Minute, true)
	}
	for path, kind := range map[string]*scopelist.Kind{c.authorization: scopelist.Authorization,
		c.admission: scopelist.Admission} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if accounts, err := scopelist.Read(kind, data); err != nil || len(accounts) != 1 || accounts[0].Name != "agent" {
			t.Errorf("%s lists %v, %v", path, accounts, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunWithoutAKubeconfig(t *testing.T) {
	o := newHost(t).options
	o.kubeconfig += ".not"
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "reading kubeconfig") {
		t.Errorf("got %v", err)
	}
}
