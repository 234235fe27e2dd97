// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// Hardening are the names of the settings beyond Bulkhead that the cluster is created with. Their
// files are in manifests/hardening, which production uses too.
type Hardening []string

const (
	anonymousSetting  = "anonymous"
	auditSetting      = "audit"
	encryptionSetting = "encryption"
	// podSecuritySetting also labels a namespace: see labelNamespaces.
	podSecuritySetting = "pod-security"
)

// Settings with the name of a file in manifests/hardening/kubeadm are in the configuration that
// kubeadm gets.
var kubeadmSettings = []string{
	anonymousSetting, auditSetting, encryptionSetting, "kubelet", "pod-gc", podSecuritySetting, "profiling", "tls",
}

// nodeSettings are arguments of manifests/hardening/host/harden.sh.
var nodeSettings = []string{"etcd-owner", "file-modes"}

// AllHardening returns all settings.
func AllHardening() Hardening {
	return Hardening(slices.Sorted(slices.Values(slices.Concat(kubeadmSettings, nodeSettings))))
}

// PlainHardening returns the settings of a cluster that is otherwise as kubeadm makes it. It has the
// audit log, because the suites read it.
func PlainHardening() Hardening { return Hardening{auditSetting} }

// Without returns the settings without those in off. The name all is for all of them.
func (h Hardening) Without(off []string) (Hardening, error) {
	all := AllHardening()
	for _, name := range off {
		if name == "all" {
			return Hardening{}, nil
		}
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("cannot turn off the hardening setting %q: use all, or one of %s", name,
				strings.Join(all, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(h), func(name string) bool { return slices.Contains(off, name) }), nil
}

func (h Hardening) has(name string) bool { return slices.Contains(h, name) }

// of returns the settings that are in names.
func (h Hardening) of(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !h.has(name) })
}

// hardeningFiles is the path of the settings' files in the checkout.
func (c *Cluster) hardeningFiles(elements ...string) string {
	return filepath.Join(append([]string{c.Root, "manifests", "hardening"}, elements...)...)
}

// hostFolders returns the folders of the host that the nodes need at their creation.
func (c *Cluster) hostFolders(ctx context.Context, log io.Writer) (hostFolders, error) {
	folders := hostFolders{
		"/etc/kubernetes/audit": filepath.Join(c.Root, "manifests", "audit"),
		patchesInside:           filepath.Join(c.Root, "kind", "refcluster", "patches"),
		hardeningInside:         c.hardeningFiles("host"),
		podSecurityInside:       c.hardeningFiles("host", "pod-security"),
	}
	if !c.Hardening.has(encryptionSetting) {
		return folders, nil
	}
	// All control planes have the same key, because they read the same etcd.
	folders[encryptionInside] = c.encryptionFolder()
	return folders, c.newEncryptionKey(ctx, log)
}

const (
	// hardeningInside is the path of manifests/hardening/host in a node.
	hardeningInside = "/etc/kubernetes/hardening"
	// podSecurityInside is the path of manifests/hardening/host/pod-security in a node.
	podSecurityInside = "/etc/kubernetes/pod-security"
	// encryptionInside is the path of the encryption key in a control-plane node.
	encryptionInside = "/etc/kubernetes/encryption"
)

// encryptionFolder is a folder of the host with the cluster's key. Git ignores it.
func (c *Cluster) encryptionFolder() string {
	return filepath.Join(c.Output, "encryption"+strings.TrimPrefix(c.Name, DefaultName))
}

// newEncryptionKey generates a key with the script that production uses. It replaces the key of a
// cluster that was removed by another program.
func (c *Cluster) newEncryptionKey(ctx context.Context, log io.Writer) error {
	if err := c.removeEncryptionKey(); err != nil {
		return err
	}
	return progress.Command{Args: []string{
		"sh", c.hardeningFiles("host", "encryption-key.sh"), filepath.Join(c.encryptionFolder(), "config.yaml"),
	}}.Run(ctx, log)
}

func (c *Cluster) removeEncryptionKey() error { return os.RemoveAll(c.encryptionFolder()) }

// Harden applies what kubeadm's configuration cannot set.
func (c *Cluster) Harden(ctx context.Context) error {
	if err := c.labelNamespaces(ctx); err != nil {
		return err
	}
	return c.hardenNodes(ctx)
}

// storageNamespace is the namespace of the storage provisioner in kind's own node image. The pods that
// create its volumes have a hostPath.
const storageNamespace = "local-path-storage"

// labelNamespaces allows every pod in kind's namespace. A node image that was built from source does
// not have this namespace.
func (c *Cluster) labelNamespaces(ctx context.Context) error {
	if !c.Hardening.has(podSecuritySetting) {
		return nil
	}
	found, err := c.kubectl("get", "namespace", storageNamespace, "--ignore-not-found", "--output=name").Output(ctx,
		io.Discard)
	if err != nil || strings.TrimSpace(found) == "" {
		return err
	}
	const key = "pod-security.kubernetes.io/"
	return c.kubectl("label", "namespace", storageNamespace, "--overwrite", key+"enforce=privileged",
		key+"warn=privileged", key+"audit=privileged").Run(ctx, io.Discard)
}

// hardenNodes runs the script that sets modes and owners of files, which kubeadm does not set.
func (c *Cluster) hardenNodes(ctx context.Context) error {
	settings := c.Hardening.of(nodeSettings)
	if len(settings) == 0 {
		return nil
	}
	return c.Progress.Step(ctx, "setting modes and owners of files on the nodes",
		func(ctx context.Context, log io.Writer) error {
			for _, node := range c.nodes() {
				args := append([]string{"exec", node, "sh", hardeningInside + "/harden.sh"}, settings...)
				if err := c.Engine.Docker(args...).Run(ctx, log); err != nil {
					return err
				}
			}
			return nil
		})
}

// kubeadmPatches returns the settings as patches of kubeadm's configuration.
func (h Hardening) kubeadmPatches(dir fs.FS) (patches []string, err error) {
	for _, name := range h.of(kubeadmSettings) {
		raw, readErr := fs.ReadFile(dir, name+".yaml")
		err = errors.Join(err, readErr)
		patches = append(patches, string(raw))
	}
	return patches, err
}
