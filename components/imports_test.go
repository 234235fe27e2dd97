// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package components_test settles which package may import which. It reads the
// files itself: a test that asks `go list` is answered from the test cache, which
// does not see what a child process reads.
package components_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	"machinetable", "revocationlist", "nodescope", "nodescope/admission", "nodescope/scopeindex", "nodescope/scopelist",
	"nodescope/scopesuggest",
}

// notForPolicy lists imports, each with all that lies below it.
var notForPolicy = []string{
	"net/http", "flag", "os", "log", "syscall",
	"github.com/spf13/cobra", "github.com/spf13/pflag",
	"k8s.io/client-go", "k8s.io/component-base", "k8s.io/klog",
	components + "cmd", components + "install", components + "internal/sarwebhook", components + "internal/serve",
	components + "internal/admissionwebhook", components + "internal/webhook",
	components + "nodeauthorizer/graphsync", components + "nodeauthorizer/livelookup", components + "nodescope/customread",
	components + "nodescope/scopesync",
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

// oneWay lists pairs of folders of which the first must not import the second, with all
// that lies below both. The first of each pair is the more general one.
var oneWay = []struct{ folder, mustNotImport string }{
	{"nodescope", "install"},
	{"nodescope", "noderestriction"},
	{"nodescope", "nodeauthorizer"},
	{"nodeauthorizer", "install"},
	{"conformance", "install/pki"},
}

func TestImportsGoOneWay(t *testing.T) {
	for _, pair := range oneWay {
		for _, dir := range packagesBelow(t, pair.folder) {
			checkImports(t, dir, []string{components + pair.mustNotImport})
		}
	}
}

// TestFoldersHaveNoCycle compares the folders directly below components. Each stands for
// all its packages.
func TestFoldersHaveNoCycle(t *testing.T) {
	imports := map[string][]string{}
	for _, dir := range packagesBelow(t, ".") {
		from := topFolder(filepath.ToSlash(dir))
		for _, file := range productionFiles(t, dir) {
			for _, path := range importsOf(t, file) {
				to, ok := strings.CutPrefix(path, components)
				if to = topFolder(to); ok && to != from && !slices.Contains(imports[from], to) {
					imports[from] = append(imports[from], to)
				}
			}
		}
	}
	if len(imports) == 0 {
		t.Fatal("no folder imports another one: the check reads nothing")
	}
	if cycle := cycleIn(imports); cycle != nil {
		t.Errorf("folders of components import each other: %s", strings.Join(cycle, " -> "))
	}
}

func TestCycleIn(t *testing.T) {
	for _, tc := range []struct {
		name    string
		imports map[string][]string
		want    string
	}{
		{"no import", nil, ""},
		{"shared dependency", map[string][]string{"a": {"b", "c"}, "b": {"c"}}, ""},
		{"two folders", map[string][]string{"a": {"b"}, "b": {"a"}}, "a b a"},
		{"three folders", map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}, "b c b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(cycleIn(tc.imports), " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// cycleIn returns the names along one cycle, with the first at the end again; nil if there
// is none.
func cycleIn(imports map[string][]string) []string {
	done := map[string]bool{}
	var path, found []string
	var visit func(name string)
	visit = func(name string) {
		if at := slices.Index(path, name); at >= 0 && found == nil {
			found = append(slices.Clone(path[at:]), name)
		}
		if found != nil || done[name] {
			return
		}
		path = append(path, name)
		for _, next := range imports[name] {
			visit(next)
		}
		path, done[name] = path[:len(path)-1], true
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		visit(name)
	}
	return found
}

func topFolder(path string) string {
	top, _, _ := strings.Cut(path, "/")
	return top
}

// packagesBelow returns the directories with Go files that are not tests, the folder itself
// included.
func packagesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && len(productionFiles(t, path)) > 0 {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%s: %d packages, %v", folder, len(dirs), err)
	}
	return dirs
}

func productionFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
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
	files := productionFiles(t, dir)
	if len(files) == 0 {
		t.Errorf("%s has no Go files", dir)
	}
	for _, file := range files {
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
