// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// release is what to build, and where.
type release struct {
	version string
	// section is the heading of the changelog's section. If it is empty, it is the version.
	section string
	// root is the checkout, and folder is where the files of the release go. An older release there
	// is replaced when the new one is complete.
	root, folder string
	// key is the path of the private key. If it is empty, the release is not signed.
	key        string
	allowDirty bool
	cache      string
	log        io.Writer
}

// program is a file that was compiled.
type program struct {
	// path is where it was built, and name is its path in the release.
	path, name string
}

func archiveName(version string, p platform) string { return "bulkhead-" + version + "-" + p.String() }

// build builds the release. It checks everything that can be checked before it compiles.
func (r release) build(ctx context.Context) error {
	src, notes, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if err := replaceable(r.folder); err != nil {
		return err
	}
	work := r.folder + ".partial"
	defer func() { _ = os.RemoveAll(work) }()
	files := filepath.Join(work, "files")
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(files, 0o755)); err != nil {
		return err
	}
	if err := writeBytes(filepath.Join(files, "release-notes.md"), []byte(notes)); err != nil {
		return err
	}
	programs, conformance := map[platform][]program{}, map[platform][]program{}
	for _, p := range platforms {
		fmt.Fprintf(r.log, "building the programs for %s\n", p)
		if programs[p], err = r.programs(ctx, src, p, work, files); err != nil {
			return err
		}
		fmt.Fprintf(r.log, "building bulkhead-conformance for %s\n", p)
		if conformance[p], err = r.conformance(ctx, p, work, files); err != nil {
			return err
		}
	}
	fmt.Fprintln(r.log, "writing the image and the bill of materials")
	image := filepath.Join(files, "bulkhead-"+r.version+"-image.tar")
	if err := writeImage(image, r.version, src, programs, work); err != nil {
		return err
	}
	bill := filepath.Join(files, "bulkhead-"+r.version+".spdx.json")
	if err := writeBOM(bill, r.version, src, programs, conformance); err != nil {
		return err
	}
	if now, err := readSource(ctx, r.root); err != nil || now != src {
		return errors.Join(err, errChanged)
	}
	return r.finish(files)
}

// prepare returns the commit and the release notes, or the reason why there can be no release.
func (r release) prepare(ctx context.Context) (source, string, error) {
	if err := checkVersion(r.version); err != nil {
		return source{}, "", err
	}
	src, err := readSource(ctx, r.root)
	if err != nil {
		return src, "", err
	}
	if src.dirty && !r.allowDirty {
		return src, "", errDirty
	}
	if r.key != "" {
		if _, err := readPrivateKey(r.key); err != nil {
			return src, "", err
		}
	}
	changelog, err := os.ReadFile(filepath.Join(r.root, "docs", "CHANGELOG.md"))
	if err != nil {
		return src, "", err
	}
	name := r.section
	if name == "" {
		name = r.version
	}
	notes, err := releaseNotes(string(changelog), name, r.version)
	return src, notes, err
}

// replaceable returns an error if the folder exists and has no release. It would be removed.
func replaceable(folder string) error {
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, sumsFile)); err != nil {
		return fmt.Errorf("cannot write the release to %s: it exists and is not a release; give another folder", folder)
	}
	return nil
}

// programs builds the programs of a platform, and writes their archive and the program bulkhead.
func (r release) programs(ctx context.Context, src source, p platform, work, files string) ([]program, error) {
	folder := filepath.Join(work, p.String())
	names, err := r.compiler().compile(ctx, p, folder)
	if err != nil {
		return nil, err
	}
	top := archiveName(r.version, p)
	entries := []entry{{name: top + "/LICENSE", path: filepath.Join(r.root, "LICENSE"), mode: 0o644}}
	var built []program
	for _, name := range names {
		one := program{path: filepath.Join(folder, name), name: top + "/" + name}
		built = append(built, one)
		entries = append(entries, entry{name: one.name, path: one.path, mode: 0o755})
	}
	if err := tarGzFile(filepath.Join(files, top+".tar.gz"), src.time, entries); err != nil {
		return nil, err
	}
	return built, copyFile(filepath.Join(folder, "bulkhead"), filepath.Join(files, "bulkhead-"+p.String()))
}

// conformance builds bulkhead-conformance of a platform, and returns it and the programs in it.
func (r release) conformance(ctx context.Context, p platform, work, files string) ([]program, error) {
	file, contained, err := r.compiler().conformance(ctx, p, filepath.Join(work, p.String()+"-conformance"))
	if err != nil {
		return nil, err
	}
	name := "bulkhead-conformance-" + p.String()
	built := []program{{path: file, name: name}}
	for _, path := range contained {
		built = append(built, program{path: path, name: name + "/" + filepath.Base(path)})
	}
	return built, copyFile(file, filepath.Join(files, name))
}

func (r release) compiler() compiler {
	return compiler{root: r.root, version: r.version, cache: r.cache}
}

// finish writes the sums, signs them, and puts the files in their place.
func (r release) finish(files string) error {
	text, err := sums(files)
	if err != nil {
		return err
	}
	list := filepath.Join(files, sumsFile)
	if err := writeBytes(list, []byte(text)); err != nil {
		return err
	}
	if r.key != "" {
		if err := signFile(r.key, list, filepath.Join(files, signatureFile)); err != nil {
			return err
		}
	}
	if err := errors.Join(os.RemoveAll(r.folder), os.Rename(files, r.folder)); err != nil {
		return err
	}
	return r.report()
}

// report prints the files and whether they are signed.
func (r release) report() error {
	files, err := os.ReadDir(r.folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.log, "Bulkhead %s is in %s:\n", r.version, r.folder)
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(r.log, "  %9.1f MB  %s\n", float64(info.Size())/1e6, file.Name())
	}
	if r.key == "" {
		fmt.Fprintln(r.log, "WARNING: this release is NOT SIGNED. To sign it, set RELEASE_KEY to the path of an ECDSA key "+
			"(docs/releases.md).")
		return nil
	}
	fmt.Fprintf(r.log, "signed with %s\n", r.key)
	return nil
}

func writeBytes(path string, content []byte) error {
	return writeFile(path, func(out io.Writer) error {
		_, err := out.Write(content)
		return err
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return errors.Join(writeFile(to, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	}), os.Chmod(to, 0o755))
}
