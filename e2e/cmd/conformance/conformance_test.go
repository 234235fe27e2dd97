// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestValidate(t *testing.T) {
	good := options{Output: "out", Procs: 1, Timeout: time.Minute}
	for name, tt := range map[string]struct {
		change func(*options)
		want   string
	}{
		"defaults: accepted":                    {func(*options) {}, ""},
		"node command with a place: accepted":   {func(o *options) { o.NodeExec = "ssh {node}" }, ""},
		"node command without a place: refused": {func(o *options) { o.NodeExec = "ssh" }, "{node}"},
		"no process: refused":                   {func(o *options) { o.Procs = 0 }, "--procs=0"},
		"no time: refused":                      {func(o *options) { o.Timeout = 0 }, "--timeout=0s"},
		"no directory: refused":                 {func(o *options) { o.Output = "" }, "--output-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			tt.change(&o)
			expectError(t, o.Validate(), tt.want)
		})
	}
}

func TestSelected(t *testing.T) {
	all := []string{"a", "b"}
	got, err := selected(all, nil)
	if err != nil || !slices.Equal(got, all) {
		t.Errorf("no selection: %v, %v", got, err)
	}
	got, err = selected(all, []string{"b"})
	if err != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("one suite: %v, %v", got, err)
	}
	_, err = selected(all, []string{"c"})
	expectError(t, err, `no suite "c": use a, b`)
}

func TestUnpack(t *testing.T) {
	for name, tt := range map[string]struct {
		files []string
		want  string
	}{
		"suites and other files: unpacked": {[]string{"e2e/suites/b.test", "e2e/suites/a.test", "docs/c.yaml"}, ""},
		"no suite: refused":                {[]string{"e2e/suites/ginkgo", "docs/c.yaml"}, "cannot find a suite"},
	} {
		t.Run(name, func(t *testing.T) {
			program, dir := filepath.Join(t.TempDir(), "program"), t.TempDir()
			writeBundle(t, program, tt.files...)
			suites, err := unpack(program, dir)
			expectError(t, err, tt.want)
			if tt.want != "" {
				return
			}
			if !slices.Equal(suites, []string{"a", "b"}) {
				t.Errorf("suites %v", suites)
			}
			for _, file := range tt.files {
				if content, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(content) != file {
					t.Errorf("%s: %q, %v", file, content, err)
				}
			}
			_, err = unpack(program, dir)
			expectError(t, err, "file exists")
		})
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := unpack(program, t.TempDir())
	expectError(t, err, "make conformance")
}

func writeBundle(t *testing.T, path string, names ...string) {
	t.Helper()
	var content bytes.Buffer
	content.WriteString("a program")
	archive := zip.NewWriter(&content)
	archive.SetOffset(int64(content.Len()))
	for _, name := range names {
		entry, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPrepare(t *testing.T) {
	for name, tt := range map[string]struct {
		allowed bool
		context string
		want    string
	}{
		"administrator: accepted":         {true, "", ""},
		"another context: accepted":       {true, "second", ""},
		"other user: refused":             {false, "", "cluster-admin"},
		"context that is absent: refused": {true, "third", `context "third" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			file := kubeconfigOf(t, tt.allowed)
			written, err := prepare(t.Context(), options{Kubeconfig: file, Context: tt.context}, t.TempDir())
			expectError(t, err, tt.want)
			if tt.want != "" {
				return
			}
			config, err := clientcmd.LoadFromFile(written)
			if err != nil {
				t.Fatal(err)
			}
			if want := max(tt.context, "first"); config.CurrentContext != want {
				t.Errorf("context %q, want %q", config.CurrentContext, want)
			}
		})
	}
	_, err := prepare(context.Background(), options{Kubeconfig: filepath.Join(t.TempDir(), "missing")}, t.TempDir())
	expectError(t, err, "--kubeconfig")
}

// kubeconfigOf returns a kubeconfig for an API server that answers each review in this way.
func kubeconfigOf(t *testing.T, allowed bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
			"status": map[string]any{"allowed": allowed},
		})
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: server.URL}
	for _, name := range []string{"first", "second"} {
		config.Contexts[name] = &clientcmdapi.Context{Cluster: "cluster"}
	}
	config.CurrentContext = "first"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// expectError expects an error that contains the text, or none if the text is empty.
func expectError(t *testing.T, err error, text string) {
	t.Helper()
	if text == "" && err != nil {
		t.Errorf("unexpected error: %v", err)
	}
	if text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("error %v, want %q", err, text)
	}
}

func TestVersion(t *testing.T) {
	var out strings.Builder
	cmd := newCommand()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.Execute(); err != nil || out.String() != "bulkhead-conformance version dev\n" {
		t.Errorf("it prints %q, %v", &out, err)
	}
}
