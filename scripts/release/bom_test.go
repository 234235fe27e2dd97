// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// testBOM writes the bill of materials for copies of this test program.
func testBOM(t *testing.T, version string, src source, names ...string) (string, spdxDocument) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := map[platform][]program{}
	for _, p := range platforms {
		for _, name := range names {
			path := filepath.Join(t.TempDir(), name)
			if err := copyFile(self, path); err != nil {
				t.Fatal(err)
			}
			programs[p] = append(programs[p], program{path: path, name: archiveName(version, p) + "/" + name})
		}
	}
	file := filepath.Join(t.TempDir(), "bom")
	if err := writeBOM(file, version, src, programs); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var document spdxDocument
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return string(text), document
}

func TestBOMIsTheSameEachTime(t *testing.T) {
	first, document := testBOM(t, "v0.2.0", testSource, "a", "b")
	if second, _ := testBOM(t, "v0.2.0", testSource, "a", "b"); first != second {
		t.Error("two documents differ")
	}
	if document.CreationInfo.Created != "2026-11-25T23:52:31Z" {
		t.Errorf("created %s", document.CreationInfo.Created)
	}
	for name, other := range map[string]func() spdxDocument{
		"another program": func() spdxDocument { _, d := testBOM(t, "v0.2.0", testSource, "a", "c"); return d },
		"another version": func() spdxDocument { _, d := testBOM(t, "v0.2.1", testSource, "a", "b"); return d },
		"another commit": func() spdxDocument {
			_, d := testBOM(t, "v0.2.0", source{commit: "f00", time: commitTime}, "a", "b")
			return d
		},
	} {
		if other().DocumentNamespace == document.DocumentNamespace {
			t.Errorf("%s: the same namespace", name)
		}
	}
}

func TestBOMListsProgramsAndModules(t *testing.T) {
	_, document := testBOM(t, "v0.2.0", testSource, "a")
	byID := func(a, b spdxPackage) int { return strings.Compare(a.SPDXID, b.SPDXID) }
	if !slices.IsSortedFunc(document.Packages, byID) {
		t.Error("the packages are not sorted")
	}
	packages := map[string]spdxPackage{}
	for _, p := range document.Packages {
		if packages[p.SPDXID].Name != "" {
			t.Errorf("%s is there twice", p.SPDXID)
		}
		packages[p.SPDXID] = p
		if p.Name == "" || p.VersionInfo == "" || p.DownloadLocation == "" || p.LicenseConcluded == "" {
			t.Errorf("package without a field: %+v", p)
		}
	}
	program := packages["SPDXRef-linux-arm64-a"]
	if len(program.Checksums) != 1 || len(program.Checksums[0].Value) != 64 ||
		program.PackageFileName != "bulkhead-v0.2.0-linux-arm64/a" ||
		!strings.HasSuffix(program.DownloadLocation, "@"+testSource.commit) {
		t.Errorf("program %+v", program)
	}
	links := map[spdxRelationship]bool{}
	for _, link := range document.Relationships {
		links[link] = true
		if packages[link.Related].Name == "" || link.Element != documentID && packages[link.Element].Name == "" {
			t.Errorf("%+v names a package that is not there", link)
		}
	}
	library := "SPDXRef-go-github.com-google-go-containerregistry-v0.22.1"
	if got := packages[library].ExternalRefs; len(got) != 1 ||
		got[0].Locator != "pkg:golang/github.com/google/go-containerregistry@v0.22.1" {
		t.Errorf("references %+v", got)
	}
	if !links[spdxRelationship{documentID, "DESCRIBES", program.SPDXID}] ||
		!links[spdxRelationship{program.SPDXID, "DEPENDS_ON", library}] {
		t.Errorf("relationships %+v", document.Relationships)
	}
	for id, p := range packages {
		linked := links[spdxRelationship{program.SPDXID, "DEPENDS_ON", id}]
		if p.Name == "stdlib" && strings.HasPrefix(p.VersionInfo, "1.") && linked {
			return
		}
	}
	t.Error("no package for Go's standard library")
}

func TestModulesOf(t *testing.T) {
	var got []string
	for _, module := range modulesOf(&debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "example.test/a", Version: "v1.0.0"},
		{Path: "example.test/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.test/fork", Version: "v2.0.0"}},
	}}) {
		got = append(got, module.Path+"@"+module.Version)
	}
	if want := "stdlib@1.26.8 example.test/a@v1.0.0 example.test/fork@v2.0.0"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBOMNeedsGoPrograms(t *testing.T) {
	programs := testPrograms(t)
	if err := writeBOM(filepath.Join(t.TempDir(), "bom"), "v0.2.0", testSource, programs); err == nil {
		t.Error("no error for files that are not programs")
	}
}
