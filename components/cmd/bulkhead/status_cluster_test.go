// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

var statusNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clusterReport() *clusterstatus.Report {
	entry := &hosts.Host{Version: "v0.2.0", Profile: "hardened", Mode: "enforce", ConfigHash: "3f9a1c2b7d10ffff",
		Modes: "enforce, NA-CSR-1=off"}
	ends := []clusterstatus.Certificate{{Name: "b", NotAfter: statusNow.AddDate(0, 0, 80)},
		{Name: "a", NotAfter: statusNow.AddDate(0, 0, 60)}}
	r := &clusterstatus.Report{
		Hosts: []clusterstatus.Host{
			{Node: "cp1", State: clusterstatus.Installed, Entry: entry, Certificates: ends},
			{Node: "cp2", State: clusterstatus.Installed, Entry: entry, CertificatesUnknown: "no answer within 5s"},
			{Node: "cp3", State: clusterstatus.NotInstalled},
			{Node: "cp4", State: clusterstatus.NotRecorded,
				Certificates: []clusterstatus.Certificate{{NotAfter: statusNow}}}},
		Nodes: []clusterstatus.Node{{Name: "cp1", Guard: clusterstatus.Guarded},
			{Name: "win1", Guard: clusterstatus.LeftOut}},
		Findings: []clusterstatus.Finding{{Level: preflight.Fail, Where: "cp3", Text: "Bulkhead is not installed",
			Next: "run `bulkhead install`"}, {Level: preflight.OK, Text: "fine"}},
	}
	for i := range 11 {
		r.Nodes = append(r.Nodes, clusterstatus.Node{Name: fmt.Sprintf("w%d", i), Guard: clusterstatus.NotGuarded})
	}
	return r
}

func TestClusterText(t *testing.T) {
	var out strings.Builder
	err := printCluster(&out, clusterReport(), "", statusNow)
	if want := "the cluster has findings with level FAIL: 1"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	const want = `HOST  STATE          VERSION  PROFILE   MODE     CONFIGURATION  CERTIFICATES END
cp1   installed      v0.2.0   hardened  enforce  3f9a1c2b7d10   2026-04-30 (in 60 days)
cp2   installed      v0.2.0   hardened  enforce  3f9a1c2b7d10   unknown: no answer within 5s
cp3   not installed  -        -         -        -              -
cp4   not recorded   -        -         -        -              2026-03-01 (expired)

rule modes on cp1: enforce, NA-CSR-1=off
rule modes on cp2: enforce, NA-CSR-1=off
kubelets guarded: 1
kubelets not guarded: 11: w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 1 more
kubelets left out: 1: win1

FAIL  cp3      Bulkhead is not installed
               next: run ` + "`bulkhead install`" + `
OK    cluster  fine
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestClusterTextIsBounded(t *testing.T) {
	r := clusterReport()
	for range shownClusterFindings {
		r.Findings = append(r.Findings, clusterstatus.Finding{Level: preflight.Warn, Text: "t", Next: "n"})
	}
	var out strings.Builder
	_ = printCluster(&out, r, "text", statusNow)
	if !strings.HasSuffix(out.String(), "\n2 more findings: -o json prints all.\n") {
		t.Errorf("it ends with %q", out.String()[out.Len()-100:])
	}
}

func TestClusterJSON(t *testing.T) {
	var out strings.Builder
	if err := printCluster(&out, clusterReport(), "json", statusNow); !errors.As(err, &findingsError{}) {
		t.Errorf("error %v, want that a finding failed", err)
	}
	var got clusterstatus.Report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(clusterReport(), &got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWarningsAreNoFailure: monitoring acts on the exit code.
func TestWarningsAreNoFailure(t *testing.T) {
	for level, want := range map[preflight.Level]bool{preflight.OK: false, preflight.Warn: false, preflight.Fail: true} {
		r := &clusterstatus.Report{Findings: []clusterstatus.Finding{{Level: level}}}
		if err := printCluster(&strings.Builder{}, r, "text", statusNow); (err != nil) != want {
			t.Errorf("%s: error %v", level, err)
		}
	}
}

func TestExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"another error":    {errors.New("no API"), 1},
		"findings":         {findingsError{1}, 2},
		"wrapped findings": {fmt.Errorf("status: %w", findingsError{1}), 2},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tc.want)
		}
	}
}

// kubeconfigFor returns a kubeconfig with a token for an API server.
func kubeconfigFor(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{"token":"topsecret"}}]}`, server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestStatusCluster runs the command against an API server that has one control-plane Node and
// nothing of Bulkhead.
func TestStatusCluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case req.URL.Path == "/api/v1/nodes":
			_, _ = fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"cp1",
"labels":{"node-role.kubernetes.io/control-plane":""}}}]}`)
		case strings.HasSuffix(req.URL.Path, "/pods"):
			_, _ = fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","items":[]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	kubeconfig := kubeconfigFor(t, server.URL)
	out, err := runStatus(t, "--cluster", "--kubeconfig="+kubeconfig)
	if !errors.As(err, &findingsError{}) || !strings.Contains(out, "FAIL  cp1  Bulkhead is not installed") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
	if strings.Contains(out, "topsecret") {
		t.Errorf("the output has the token:\n%s", out)
	}
	server.Close()
	out, err = runStatus(t, "--cluster", "--kubeconfig="+kubeconfig)
	if err == nil || exitCode(err) != 1 || !strings.HasPrefix(err.Error(), "cannot list Nodes: ") || out != "" {
		t.Errorf("without an API server: error %v, output %q", err, out)
	}
}

func runStatus(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := newStatusCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestStatusFlags(t *testing.T) {
	missing := "--kubeconfig=" + filepath.Join(t.TempDir(), "missing")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"json for one host", []string{"-o", "json"}, "--output=json is not supported"},
		{"yaml for the cluster", []string{"--cluster", "-o", "yaml"}, `invalid output format "yaml" with --cluster`},
		{"no certificates for one host", []string{"--no-certificates"}, "cannot use --no-certificates for one host"},
		{"context for one host", []string{"--context=c"}, "cannot use --context for one host"},
		{"timeout for one host", []string{"--host-timeout=1s"}, "cannot use --host-timeout for one host"},
		{"timeout 0", []string{"--cluster", "--host-timeout=0"}, "invalid --host-timeout=0s"},
		{"no kubeconfig", []string{"--cluster", missing}, "cannot connect to the cluster: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if out, err := runStatus(t, tc.args...); err == nil || !strings.HasPrefix(err.Error(), tc.want) || out != "" {
				t.Errorf("error %v, output %q, want %s", err, out, tc.want)
			}
		})
	}
}
