// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package registrytest tests how the reference cluster gets its node image from a registry. The
// registry listens on loopback. It serves an image shaped like kindest/node.
package registrytest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// architectures are those of kind's images.
var architectures = []string{"amd64", "arm64"}

// nodeFiles are some of the files of kind's node image. It has kind's own network, and no entry point of
// Bulkhead.
var nodeFiles = map[string]string{
	"kind/version":                    "v1.37.1",
	"kind/manifests/default-cni.yaml": "kind: DaemonSet\nmetadata: {name: kindnet}\n",
	"usr/local/bin/entrypoint":        "#!/bin/bash\n",
}

// nodeRegistry is a registry with a node image of two architectures.
type nodeRegistry struct {
	*httptest.Server
	// image is the image, pinned by its digest. The images below it have these digests.
	image   string
	digests map[string]v1.Hash
}

func newRegistry() (*nodeRegistry, error) {
	quiet := log.New(io.Discard, "", 0)
	r := &nodeRegistry{Server: httptest.NewServer(registry.New(registry.Logger(quiet))), digests: map[string]v1.Hash{}}
	tag, err := name.NewTag(strings.TrimPrefix(r.URL, "http://") + "/kindest/node:v1.37.1")
	if err != nil {
		return r, err
	}
	index := mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	for _, arch := range architectures {
		image, err := nodeImage(arch)
		if err != nil {
			return r, err
		}
		if r.digests[arch], err = image.Digest(); err != nil {
			return r, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		return r, err
	}
	digest, err := index.Digest()
	r.image = fmt.Sprintf("%s@%s", tag, digest)
	return r, err
}

func nodeImage(arch string) (v1.Image, error) {
	files := maps.Clone(nodeFiles)
	files["etc/architecture"] = arch
	content, err := archive(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.DockerManifestSchema2), layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(mutate.ConfigMediaType(image, types.DockerConfigJSON), withPlatform(image, arch))
}

// withPlatform returns the configuration of the image with a platform and kind's entry point.
func withPlatform(image v1.Image, arch string) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		return &v1.ConfigFile{}
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config.Entrypoint = []string{"/usr/local/bin/entrypoint", "/sbin/init"}
	return config
}

func archive(files map[string]string) ([]byte, error) {
	var buffer bytes.Buffer
	out := tar.NewWriter(&buffer)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: file, Mode: 0o755, Size: int64(len(files[file]))}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(out, files[file]); err != nil {
			return nil, err
		}
	}
	return buffer.Bytes(), out.Close()
}
