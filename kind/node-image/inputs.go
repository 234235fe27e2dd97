// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeimage builds kind's node image from source. It is for machines that can reach Go
// modules and Debian packages, but no container registry.
//
// The image tag is a hash of all inputs. So each machine builds the image once, for all checkouts.
package nodeimage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// The images that kubeadm of this version needs, by name and tag.
const (
	KubernetesVersion = "v1.37.1"
	pauseImage        = "registry.k8s.io/pause:3.10.2"
	etcdImage         = "registry.k8s.io/etcd:3.7.0-0"
	corednsImage      = "registry.k8s.io/coredns/coredns:v1.14.6"

	repository = "bulkhead.local/node"
)

// module is a Go module in this folder that pins programs of the image.
type module struct {
	dir  string
	tags string
	// renamed maps the program name from the Go build to the name in the image.
	renamed map[string]string
}

var modules = []module{
	{dir: "kubernetes"},
	{dir: "etcd", renamed: map[string]string{"server": "etcd"}},
	{dir: "containerd", tags: "no_aufs,no_zfs,no_btrfs,no_devmapper"},
	{dir: "cni-plugins"},
	{dir: "coredns"},
}

// Tag returns the tag of the image for the sources below dir (this package's folder) and this
// version of the kind module.
func Tag(dir, kindVersion string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, kindVersion, KubernetesVersion, runtime.GOARCH)
	sources := os.DirFS(dir)
	err := fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := fs.ReadFile(sources, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s %d\n", path, len(raw))
		_, err = hash.Write(raw)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hashing the inputs of the node image: %w", err)
	}
	return fmt.Sprintf("%s:%s-%s", repository, KubernetesVersion, hex.EncodeToString(hash.Sum(nil))[:12]), nil
}
