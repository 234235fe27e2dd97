// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

const (
	documentID  = "SPDXRef-DOCUMENT"
	noAssertion = "NOASSERTION"
)

// bom collects the programs of a release and the Go modules in them.
type bom struct {
	version  string
	src      source
	modules  map[string]spdxPackage
	programs []spdxPackage
	links    []spdxRelationship
}

// writeBOM writes the bill of materials of the programs. It reads their modules from the programs
// themselves.
func writeBOM(file, version string, src source, sets ...map[platform][]program) error {
	b := &bom{version: version, src: src, modules: map[string]spdxPackage{}}
	for _, programs := range sets {
		for _, p := range platforms {
			for _, one := range programs[p] {
				if err := b.addProgram(p, one); err != nil {
					return fmt.Errorf("cannot list the modules of %s: %w", one.path, err)
				}
			}
		}
	}
	text, err := b.document()
	if err != nil {
		return err
	}
	return writeBytes(file, text)
}

func (b *bom) addProgram(p platform, one program) error {
	info, err := buildinfo.ReadFile(one.path)
	if err != nil {
		return err
	}
	digest, err := sum(one.path)
	if err != nil {
		return err
	}
	added := spdxPackage{
		SPDXID: "SPDXRef-" + p.String() + "-" + filepath.Base(one.path),
		Name:   filepath.Base(one.path), VersionInfo: b.version,
		PackageFileName:  one.name,
		DownloadLocation: "git+" + repository + "@" + b.src.commit,
		Checksums:        []spdxChecksum{{"SHA256", digest}},
		LicenseConcluded: "Apache-2.0", LicenseDeclared: "Apache-2.0", CopyrightText: "Copyright The Bulkhead Authors",
		Purpose: "APPLICATION",
	}
	b.programs = append(b.programs, added)
	b.link(documentID, "DESCRIBES", added.SPDXID)
	for _, module := range modulesOf(info) {
		if err := b.addModule(added.SPDXID, module); err != nil {
			return err
		}
	}
	return nil
}

// modulesOf returns the modules in a program, as they were compiled: a replacement instead of the
// module that it replaces. Go's standard library has the name that vulnerability databases use.
func modulesOf(info *debug.BuildInfo) []*debug.Module {
	modules := []*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		modules = append(modules, module)
	}
	return modules
}

// notInID matches what an SPDX identifier cannot have.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func (b *bom) addModule(program string, module *debug.Module) error {
	id := "SPDXRef-go-" + notInID.ReplaceAllString(module.Path+"-"+module.Version, "-")
	locator := "pkg:golang/" + module.Path + "@" + strings.ReplaceAll(module.Version, "+", "%2B")
	added := spdxPackage{
		SPDXID: id, Name: module.Path, VersionInfo: module.Version, DownloadLocation: noAssertion,
		LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, CopyrightText: noAssertion, Purpose: "LIBRARY",
		ExternalRefs: []spdxExternalRef{{"PACKAGE-MANAGER", "purl", locator}},
	}
	if module.Sum != "" {
		added.SourceInfo = "go.sum: " + module.Sum
	}
	if other, known := b.modules[id]; known && other.Name != module.Path {
		return fmt.Errorf("modules %s and %s have the same identifier", other.Name, module.Path)
	}
	b.modules[id] = added
	b.link(program, "DEPENDS_ON", id)
	return nil
}

func (b *bom) link(from, kind, to string) {
	b.links = append(b.links, spdxRelationship{from, kind, to})
}

// document returns the document as JSON. Its namespace is unique, because it has the digest of
// everything else.
func (b *bom) document() ([]byte, error) {
	document := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: documentID, Name: "bulkhead-" + b.version,
		CreationInfo: spdxCreation{
			Created:  b.src.time.Format(time.RFC3339),
			Creators: []string{"Organization: The Bulkhead Authors", "Tool: bulkhead-scripts-release"},
		},
		Packages: slices.Clone(b.programs), Relationships: b.links,
	}
	for _, module := range b.modules {
		document.Packages = append(document.Packages, module)
	}
	slices.SortFunc(document.Packages, func(x, y spdxPackage) int { return strings.Compare(x.SPDXID, y.SPDXID) })
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	document.DocumentNamespace = fmt.Sprintf("%s/spdx/%s-%x", repository, document.Name, sha256.Sum256(text))
	text, err = json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}
