// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package components_test settles which package may import which. It reads the
// files itself: a test that asks `go list` is answered from the test cache, which
// does not see what a child process reads.
package components_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const components = "github.com/bulkhead-k8s/bulkhead/components/"

// policy packages answer from values. They know no network, cluster, flag,
// environment or log.
var policy = []string{
	"rules", "nodeauthorizer", "nodeauthorizer/graph", "noderestriction", "noderestriction/configuration", "kubeletauth",
	"internal/nodeidentity", "internal/kubeletcertificate", "kubeletapprover", "kubeletaccess",
	"revocationlist", "nodescope", "nodescope/admission", "nodescope/scopeindex", "nodescope/scopelist",
	"nodescope/scopestate", "nodescope/scopesuggest", "nodescope/scopesync/annotated",
}

// notForPolicy lists imports, each with all that lies below it.
var notForPolicy = []string{
	"net/http", "flag", "os", "log", "syscall",
	"github.com/spf13/cobra", "github.com/spf13/pflag",
	"k8s.io/client-go", "k8s.io/component-base", "k8s.io/klog",
	components + "cmd", components + "install", components + "internal/sarwebhook", components + "internal/serve",
	components + "internal/admissionwebhook", components + "internal/webhook",
	components + "nodeauthorizer/graphsync", components + "nodeauthorizer/liveread", components + "nodescope/customread",
	components + "nodescope/scopesync/listfile", components + "nodescope/scopesync/reloads",
}

// notForTransport are the policies. Transport gets them as interfaces; what a
// rule or a node is called it may know.
var notForTransport = []string{components + "nodeauthorizer", components + "noderestriction",
	components + "kubeletauth", components + "nodescope", components + "cmd", components + "install"}

func TestPolicyKnowsNoTransport(t *testing.T) {
	for _, dir := range policy {
		checkImports(t, dir, notForPolicy)
	}
}

// TestTransportKnowsNoPolicy holds for every internal package that is not a
// policy itself, so that a new one is covered from its first day.
func TestTransportKnowsNoPolicy(t *testing.T) {
	entries, err := os.ReadDir("internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "nodeidentity" && entry.Name() != "kubeletcertificate" {
			checkImports(t, filepath.Join("internal", entry.Name()), notForTransport)
		}
	}
}

func TestForbids(t *testing.T) {
	for _, tc := range []struct {
		path string
		want bool
	}{
		{"os", true},
		{"os/exec", true},
		{"k8s.io/klog/v2", true},
		{"k8s.io/client-go/kubernetes", true},
		{components + "nodeauthorizer/graphsync", true},
		{"osprey", false},
		{"k8s.io/apiserver/pkg/authorization/authorizer", false},
		{components + "nodeauthorizer/graph", false},
	} {
		if got := forbids(notForPolicy, tc.path); got != tc.want {
			t.Errorf("import of %s by a policy forbidden: %v, want %v", tc.path, got, tc.want)
		}
	}
}

// checkImports reports what the files of a package that are not tests import
// directly although they must not.
func checkImports(t *testing.T, dir string, forbidden []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Errorf("%s has no Go files", dir)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, path := range importsOf(t, file) {
			if forbids(forbidden, path) {
				t.Errorf("%s must not import %s", file, path)
			}
		}
	}
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func forbids(forbidden []string, path string) bool {
	for _, f := range forbidden {
		if path == f || strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return false
}
