// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var testSource = source{commit: "0123456789abcdef0123456789abcdef01234567", time: commitTime}

// testPrograms returns two programs for each platform, with different content.
func testPrograms(t *testing.T) map[platform][]program {
	t.Helper()
	programs := map[platform][]program{}
	for _, p := range platforms {
		folder := t.TempDir()
		programs[p] = []program{
			{path: write(t, folder, "b", "b of "+p.String())}, {path: write(t, folder, "a", "a of "+p.String())},
		}
	}
	return programs
}

func testImage(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := writeImage(path, "v0.2.0", testSource, testPrograms(t), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return path
}

// unpack unpacks a tar archive and returns the folder.
func unpack(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	folder := t.TempDir()
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		content, readErr := io.ReadAll(archive)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		write(t, folder, header.Name, string(content))
	}
}

func TestImageIsTheSameEachTime(t *testing.T) {
	first, err := sum(testImage(t))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := sum(testImage(t)); err != nil || first != second {
		t.Errorf("%s and %s, %v", first, second, err)
	}
}

func TestImageLayout(t *testing.T) {
	top, err := layout.ImageIndexFromPath(unpack(t, testImage(t)))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Errorf("invalid layout: %v", err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	named := manifest.Manifests[0]
	if got := named.Annotations["io.containerd.image.name"]; got != "ghcr.io/bulkhead-k8s/bulkhead:v0.2.0" {
		t.Errorf("the name of the image is %q", got)
	}
	index, err := top.ImageIndex(named.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = index.IndexManifest(); err != nil || len(manifest.Manifests) != len(platforms) {
		t.Fatalf("%+v, %v", manifest, err)
	}
	for i, p := range platforms {
		if got := manifest.Manifests[i].Platform.String(); got != p.os+"/"+p.arch {
			t.Errorf("image %d is for %s, want %s", i, got, p)
		}
		image, err := index.Image(manifest.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, p, image)
	}
}

func checkImage(t *testing.T, p platform, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != p.os || config.Architecture != p.arch || config.Config.User != imageUser ||
		!config.Created.Equal(commitTime) || config.Config.Labels["org.opencontainers.image.version"] != "v0.2.0" {
		t.Errorf("%s: config %+v", p, config)
	}
	content := mutate.Extract(image)
	defer content.Close()
	archive := tar.NewReader(content)
	for _, name := range []string{"a", "b"} {
		header, err := archive.Next()
		if err != nil || header.Name != name || header.Mode != 0o755 || header.Uid != 0 {
			t.Fatalf("%s: file %+v, %v", p, header, err)
		}
		if text, err := io.ReadAll(archive); string(text) != name+" of "+p.String() {
			t.Errorf("%s: %s has %q, %v", p, name, text, err)
		}
	}
	if header, err := archive.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%s: one more file %+v, %v", p, header, err)
	}
}

// The image of `make image` has the same content. The programs in COPY have their test in
// kind/refcluster.
func TestDockerfileIsTheSameImage(t *testing.T) {
	raw, err := os.ReadFile("../../components/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(strings.ReplaceAll(string(raw), "\\\n", " "), "")
	instructions := map[string]string{}
	for line := range strings.Lines(text) {
		if name, rest, found := strings.Cut(strings.TrimSpace(line), " "); found {
			instructions[name] = rest
		}
	}
	labels := imageLabels("", source{})
	for _, label := range strings.Fields(instructions["LABEL"]) {
		name, value, _ := strings.Cut(label, "=")
		if labels[name] != strings.Trim(value, `"`) {
			t.Errorf("label %s is %q in the release", label, labels[name])
		}
	}
	if instructions["FROM"] != "scratch" || instructions["USER"] != imageUser || len(instructions) != 4 ||
		!strings.HasSuffix(instructions["COPY"], " /") {
		t.Errorf("instructions %q: change scripts/release/image.go too", instructions)
	}
}
