// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A module's targets are those of its packages, and not of modules or data in it.
func TestFuzzTargetsAreFound(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"go.mod": "module m", "a/a_test.go": "package a\nfunc FuzzA(f *testing.F) {}\nfunc (x T) FuzzB() {}\nfunc TestFuzz(t *testing.T) {}\n",
		"a/b/b_test.go": "package b\nfunc FuzzG(f *testing.F) {}\n", "a/c_test.go": "package a\nfunc FuzzH(f *testing.F) {}\nfunc FuzzI(f *testing.F) {}\n",
		"a/a.go": "package a\nfunc FuzzC() {}\n", "b/go.mod": "module b", "b/b_test.go": "package b\nfunc FuzzD(f *testing.F) {}\n",
		"a/testdata/x_test.go": "package x\nfunc FuzzE(f *testing.F) {}\n", "_output/y_test.go": "package y\nfunc FuzzF(f *testing.F) {}\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for module, want := range map[string][]fuzzPackage{
		root:                     {{filepath.Join(root, "a"), []string{"FuzzA", "FuzzH", "FuzzI"}}, {filepath.Join(root, "a", "b"), []string{"FuzzG"}}},
		filepath.Join(root, "b"): {{filepath.Join(root, "b"), []string{"FuzzD"}}},
	} {
		got, err := fuzzPackages(module)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(fuzzPackage{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", module, diff)
		}
	}
}

// A file that cannot be read must not look as if it had no target.
func TestAFileThatIsNotGoIsAnError(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "x_test.go"), []byte("func"), 0o600); err != nil {
		t.Fatal(err)
	}
	if packages, err := fuzzPackages(root); err == nil {
		t.Errorf("found %v", packages)
	}
}

func TestInputs(t *testing.T) {
	for _, tc := range []struct {
		name, said string
		want       int
	}{
		{"the last number counts", "fuzz: elapsed: 0s, gathering baseline coverage: 0/3 completed\nfuzz: elapsed: 3s, execs: 513 (171/sec), new interesting: 2 (total: 5)\nfuzz: elapsed: 5s, execs: 1000 (243/sec), new interesting: 4 (total: 7)\nPASS\n", 1000},
		{"seeds that are not through are none", "fuzz: elapsed: 5s, gathering baseline coverage: 2/3 completed\nPASS\n", 0},
		{"silence is none", "PASS\n", 0},
	} {
		if got := inputs([]byte(tc.said)); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// A target that is not what it says, and one that fails, are failures, and one that passes has
// had all its inputs.
func TestFuzzAllTriesEveryTarget(t *testing.T) {
	// As make has it, so that the standard library is compiled for the fuzzer once.
	t.Setenv("CGO_ENABLED", "0")
	root := t.TempDir()
	for file, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a/a_test.go": `package a

import (
	"os"
	"testing"
)

func FuzzFails(f *testing.F) {
	f.Fuzz(func(t *testing.T, n int) { if n != 0 { t.Error("it is broken") } })
}

func FuzzPasses(f *testing.F) {
	f.Fuzz(func(t *testing.T, n int) {
		all, err := os.OpenFile("all", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("x")
		all.Close()
	})
}
`,
		"b/b_test.go": "package b\n\nfunc FuzzDoesNotCompile(f *testing.F) {}\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules := []string{"."}
	var said strings.Builder
	got, err := fuzzAll(t.Context(), root, modules, &said, 1)
	if want := (count{passed: 1, failed: 2}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v; said:\n%s", got, err, want, &said)
	}
	for _, want := range []string{"it is broken", "undefined: testing"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &said)
		}
	}
	if all, err := os.ReadFile(filepath.Join(root, "a", "all")); err != nil || len(all) < fuzzTries {
		t.Errorf("%d inputs were tried: %v", len(all), err)
	}
}
