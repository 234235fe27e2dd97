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
	"path"
	"slices"
	"strings"
)

// KubernetesVersion is the version of the image that is built by default.
const KubernetesVersion = "v1.37.1"

const repository = "bulkhead.local/node"

// Release is a version of Kubernetes that can be built.
type Release struct {
	// Version is the version of Kubernetes.
	Version string
	// module is the folder of the Go module that pins Kubernetes.
	module string
	// The images that kubeadm of this version needs, by name and tag.
	pause, etcd, coredns string
}

// releases begins with the default.
var releases = []Release{
	{
		Version: KubernetesVersion, module: "kubernetes", pause: "registry.k8s.io/pause:3.10.2",
		etcd: "registry.k8s.io/etcd:3.7.0-0", coredns: "registry.k8s.io/coredns/coredns:v1.14.6",
	},
	{
		Version: "v1.36.3", module: "kubernetes-v1.36", pause: "registry.k8s.io/pause:3.10.2",
		etcd: "registry.k8s.io/etcd:3.6.8-0", coredns: "registry.k8s.io/coredns/coredns:v1.14.2",
	},
}

// FindRelease returns the release of a version: v1.36.3, v1.36 or 1.36.x. An empty version is the
// default.
func FindRelease(version string) (Release, error) {
	if version == "" {
		return releases[0], nil
	}
	wanted := strings.TrimSuffix("v"+strings.TrimPrefix(version, "v"), ".x")
	var known []string
	for _, release := range releases {
		minor := release.Version[:strings.LastIndex(release.Version, ".")]
		if wanted == release.Version || wanted == minor {
			return release, nil
		}
		known = append(known, release.Version)
	}
	return Release{}, fmt.Errorf("cannot build Kubernetes %s: the node image can be built with %s; for another version, "+
		"set NODE_IMAGE to an image of kind and leave KUBERNETES empty", version, strings.Join(known, " and "))
}

// ModuleDir returns the folder of the Go module that pins this version of Kubernetes.
func (r Release) ModuleDir(root string) string {
	return path.Join(root, "kind", "node-image", r.module)
}

// modules returns the modules with the programs of the image. Kubernetes is the first.
func (r Release) modules() []module {
	return append([]module{{dir: r.module, packages: "tool"}}, others...)
}

// module is a Go module in this folder that pins programs of the image.
type module struct {
	dir string
	// packages is what is built: the tools of the module, or the program in its folder.
	packages string
	tags     string
	// renamed maps the program name from the Go build to the name in the image.
	renamed map[string]string
}

// others are the same for all releases. containerd is the first, because it has the fewest packages in
// common with Kubernetes.
var others = []module{
	{dir: "containerd", packages: "tool", tags: "no_aufs,no_zfs,no_btrfs,no_devmapper"},
	{dir: "etcd", packages: "tool", renamed: map[string]string{"server": "etcd"}},
	{dir: "cni-plugins", packages: "tool"},
	{dir: "coredns", packages: "."},
}

// Tag returns the tag of the image for the sources below dir (this package's folder), this version of
// the kind module and this architecture. The modules of other releases are no inputs.
func (r Release) Tag(dir, kindVersion, arch string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, kindVersion, r.Version, arch)
	sources := os.DirFS(dir)
	err := fs.WalkDir(sources, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && r.isOther(file):
			return fs.SkipDir
		case entry.IsDir(), strings.HasSuffix(file, "_test.go"):
			return nil
		}
		raw, err := fs.ReadFile(sources, file)
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s %d\n", file, len(raw))
		_, err = hash.Write(raw)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hashing the inputs of the node image: %w", err)
	}
	return fmt.Sprintf("%s:%s-%s", repository, r.Version, hex.EncodeToString(hash.Sum(nil))[:12]), nil
}

// isOther reports whether the folder is the module of another release.
func (r Release) isOther(dir string) bool {
	return dir != r.module && slices.ContainsFunc(releases, func(other Release) bool { return other.module == dir })
}
