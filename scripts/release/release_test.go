// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/elliptic"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// testCheckout returns a repository with two programs that do nothing, this repository's script for
// the version, and a script that builds one of the programs in place of bulkhead-conformance.
func testCheckout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	script, err := os.ReadFile("../ldflags.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod":             "module github.com/bulkhead-k8s/bulkhead\n\ngo 1.26.0\n",
		"LICENSE":            "text",
		"docs/CHANGELOG.md":  "# Changes\n\n## Unreleased\n\n- next\n\n## v0.2.0\n\n- new\n",
		"scripts/ldflags.sh": string(script),
		"scripts/conformance.sh": "#!/bin/sh -e\ncd \"$(dirname \"$0\")/..\"\nmkdir -p \"$2/e2e/suites\"\n" +
			"go build -o \"$1\" ./components/cmd/a\ngo build -o \"$2/e2e/suites/nodescope.test\" ./components/cmd/a\n",
		"components/cmd/a/main.go": "package main\n\nfunc main() {}\n",
		"components/cmd/bulkhead/main.go": "package main\n\n" +
			"import \"github.com/bulkhead-k8s/bulkhead/components/internal/version\"\n\n" +
			"func main() { println(version.Get()) }\n",
		"components/internal/version/version.go": "package version\n\nvar gitVersion string\n\n" +
			"func Get() string { return gitVersion }\n",
	} {
		write(t, root, name, content)
	}
	git(t, root, "init", "--quiet")
	git(t, root, "add", ".")
	git(t, root, "commit", "--quiet", "--message=m")
	return root
}

func TestBuildRefuses(t *testing.T) {
	root := testCheckout(t)
	folder := t.TempDir()
	for _, tt := range []struct {
		name string
		r    release
		err  string
	}{
		{"version that is not semantic", release{version: "0.2.0"}, "not a semantic version"},
		{"version without a section", release{version: "v0.3.0"}, `no heading "## v0.3.0"`},
		{"key that does not exist", release{version: "v0.2.0", key: "/missing.pem"}, "cannot read the private key"},
		{"folder with other files", release{version: "v0.2.0", folder: root}, "is not a release"},
	} {
		r := tt.r
		r.root, r.log = root, io.Discard
		if r.folder == "" {
			r.folder = filepath.Join(folder, "release")
		}
		if err := r.build(context.Background()); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
	write(t, root, "changed", "")
	r := release{version: "v0.2.0", root: root, folder: filepath.Join(folder, "release"), log: io.Discard}
	if err := r.build(context.Background()); err == nil || !strings.Contains(err.Error(), "not committed") {
		t.Errorf("checkout with changes: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(root, "LICENSE")); err != nil {
		t.Error(err)
	}
}

func TestBuildSignAndVerify(t *testing.T) {
	root, folder := testCheckout(t), filepath.Join(t.TempDir(), "release")
	sec1, _, public := newKey(t, t.TempDir(), elliptic.P256())
	var out bytes.Buffer
	do := func(args ...string) error {
		out.Reset()
		return run(context.Background(), &out, append(args, "-output="+folder))
	}
	if err := do("build", "-root="+root, "-version=v0.2.0"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "NOT SIGNED") {
		t.Errorf("an unsigned release has no warning:\n%s", out.String())
	}
	if err := do("verify", "-public-key="+public); err == nil || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("unsigned release: %v", err)
	}
	unsigned, _ := os.ReadFile(filepath.Join(folder, sumsFile))
	if err := do("build", "-root="+root, "-version=v0.2.0", "-key="+sec1); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "NOT SIGNED") {
		t.Errorf("a signed release has a warning:\n%s", out.String())
	}
	if signed, _ := os.ReadFile(filepath.Join(folder, sumsFile)); string(signed) != string(unsigned) {
		t.Errorf("another build has other sums:\n%s\n%s", unsigned, signed)
	}
	if err := do("verify", "-public-key="+public); err != nil || !strings.Contains(out.String(), "verified") {
		t.Errorf("signed release: %v\n%s", err, out.String())
	}
	if err := do("verify"); err == nil {
		t.Error("verified without a key")
	}
	checkFiles(t, folder)
	if err := os.Truncate(filepath.Join(folder, "bulkhead-linux-amd64"), 100); err != nil {
		t.Fatal(err)
	}
	if err := do("verify", "-public-key="+public); err == nil || !strings.Contains(err.Error(), "bulkhead-linux-amd64") {
		t.Errorf("changed file: %v", err)
	}
}

func checkFiles(t *testing.T, folder string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
	}
	const want = "SHA256SUMS SHA256SUMS.sig bulkhead-conformance-linux-amd64 bulkhead-conformance-linux-arm64 " +
		"bulkhead-linux-amd64 bulkhead-linux-arm64 bulkhead-v0.2.0-image.tar " +
		"bulkhead-v0.2.0-linux-amd64.tar.gz bulkhead-v0.2.0-linux-arm64.tar.gz " +
		"bulkhead-v0.2.0.spdx.json release-notes.md"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("files\n%s, want\n%s", got, want)
	}
	printed, err := exec.Command(filepath.Join(folder, "bulkhead-"+runtime.GOOS+"-"+runtime.GOARCH)).CombinedOutput()
	if err != nil || string(printed) != "v0.2.0\n" {
		t.Errorf("the program prints the version %q, %v", printed, err)
	}
	bill, err := os.ReadFile(filepath.Join(folder, "bulkhead-v0.2.0.spdx.json"))
	if err != nil || !strings.Contains(string(bill), `"bulkhead-conformance-linux-arm64/nodescope.test"`) {
		t.Errorf("the bill of materials does not list the suites: %v\n%s", err, bill)
	}
	notes, err := os.ReadFile(filepath.Join(folder, "release-notes.md"))
	if string(notes) != "# Bulkhead v0.2.0\n\n- new\n" {
		t.Errorf("notes %q, %v", notes, err)
	}
}

// A release that is built while a file changes has not the bytes of its commit.
func TestBuildFailsIfTheCheckoutChangesMeanwhile(t *testing.T) {
	root, folder := testCheckout(t), filepath.Join(t.TempDir(), "release")
	r := release{version: "v0.2.0", root: root, folder: folder}
	r.log = writerFunc(func() { write(t, root, "changed", "") })
	if err := r.build(context.Background()); err == nil || !strings.Contains(err.Error(), "changed during the build") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the release is there")
	}
}

type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestSameSums(t *testing.T) {
	for _, tt := range []struct {
		name, first, second string
		same                bool
	}{
		{"equal", "1  a\n2  b\n", "1  a\n2  b\n", true},
		{"other sum", "1  a\n2  b\n", "1  a\n3  b\n", false},
		{"missing file", "1  a\n2  b\n", "1  a\n", false},
		{"one more file", "1  a\n", "1  a\n2  b\n", false},
	} {
		a, b := t.TempDir(), t.TempDir()
		write(t, a, sumsFile, tt.first)
		write(t, b, sumsFile, tt.second)
		if _, err := sameSums(a, b); (err == nil) != tt.same {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestCheckReproducible(t *testing.T) {
	var out bytes.Buffer
	err := run(context.Background(), &out, []string{"check", "-root=" + testCheckout(t), "-version=v0.2.0"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "have the same 9 files") {
		t.Error(out.String())
	}
}

func TestArguments(t *testing.T) {
	for _, args := range []string{"", "publish", "build", "build -output=x", "build -unknown", "verify x", "check"} {
		if err := run(context.Background(), io.Discard, strings.Fields(args)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
