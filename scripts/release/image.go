// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The same as in components/Dockerfile.
const (
	imageRepository = "ghcr.io/bulkhead-k8s/bulkhead"
	imageUser       = "65532:65532"
)

func imageLabels(version string, src source) map[string]string {
	return map[string]string{
		"org.opencontainers.image.source":   repository,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.revision": src.commit,
	}
}

// writeImage writes an OCI image layout as a tar archive. The layout has one index, and the index
// has an image for each platform. work is a
// folder for temporary files.
func writeImage(path, version string, src source, programs map[platform][]program, work string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		image, err := platformImage(version, src, p, programs[p], work)
		if err != nil {
			return fmt.Errorf("cannot make the image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	folder := filepath.Join(work, "layout")
	stored, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	// containerd takes the name from the first annotation, other programs from the second one.
	err = stored.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          imageRepository + ":" + version,
		"org.opencontainers.image.ref.name": version,
	}))
	if err != nil {
		return err
	}
	entries, err := folderEntries(folder)
	if err != nil {
		return err
	}
	return errors.Join(tarFile(path, src.time, entries), os.RemoveAll(folder))
}

// platformImage returns an image with one layer, which has the programs in the root folder.
func platformImage(version string, src source, p platform, programs []program, work string) (v1.Image, error) {
	var entries []entry
	for _, one := range programs {
		entries = append(entries, entry{name: filepath.Base(one.path), path: one.path, mode: 0o755})
	}
	archive := filepath.Join(work, "layer-"+p.String()+".tar")
	if err := tarFile(archive, src.time, entries); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromFile(archive, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: src.time}, CreatedBy: "COPY of the programs of Bulkhead " + version},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.os, p.arch
	config.Created = v1.Time{Time: src.time}
	config.Config = v1.Config{User: imageUser, Labels: imageLabels(version, src)}
	return mutate.ConfigFile(image, config)
}
