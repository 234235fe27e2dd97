// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// servingFile is a symbolic link to the kubelet's serving certificate and its key. The cluster
// issued the certificate. The kubelet changes the link when it gets a new certificate (client-go
// util/certificate/certificate_store.go).
const servingFile = "kubelet-server-current.pem"

// copied is a file that kubelet-auth-proxy reads as a copy. The directory of the copies contains
// nothing that the proxy must not read.
type copied struct {
	name, from, to string
	// later is true if the file may not exist yet.
	later bool
}

func (k *Installer) copies(clientCA, serving string) []copied {
	return []copied{
		{name: "client-ca", from: clientCA, to: k.proxyClientCA()},
		{name: "kubelet-serving", from: serving, to: k.proxyServing(), later: true},
	}
}

func (k *Installer) proxyClientCA() string {
	return filepath.Join(k.Layout.KubeletProxy(), "client-ca.crt")
}

func (k *Installer) proxyServing() string {
	return filepath.Join(k.Layout.KubeletProxy(), "kubelet-serving.pem")
}

// proxyFiles are the files for which an idle proxy waits.
func (k *Installer) proxyFiles() []string {
	client := host.PairIn(k.Layout.KubeletProxy(), "client")
	return []string{client.CertFile, client.KeyFile, k.proxyClientCA(), k.proxyServing()}
}

// follow updates the copies and returns the names of those that it wrote. The proxy reads a changed
// copy at once.
func (k *Installer) follow(copies []copied) (written []string, err error) {
	for _, c := range copies {
		data, err := os.ReadFile(c.from)
		if c.later && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return written, fmt.Errorf("copying %s for kubelet-auth-proxy: %w", c.name, err)
		}
		have, exists, err := atomicfile.Read(c.to)
		if err != nil {
			return written, err
		}
		if exists && bytes.Equal(have.Data, data) {
			continue
		}
		if err := atomicfile.Write(c.to, k.forProxy(data), ""); err != nil {
			return written, err
		}
		written = append(written, c.name)
	}
	return written, nil
}

// copySettle is the time in which a file must not change after a copy. systemd starts the copy only
// once for changes that happen together, and may start it after the first change.
const copySettle = time.Second

// mostCopies limits the copies in one run. If a file keeps changing, the next run copies it.
const mostCopies = 10

// settled calls follow until no file changes.
func (k *Installer) settled(ctx context.Context, copies []copied) (written []string, err error) {
	for range mostCopies {
		now, err := k.follow(copies)
		written = append(written, now...)
		if err != nil || len(now) == 0 {
			return written, err
		}
		select {
		case <-ctx.Done():
			return written, ctx.Err()
		case <-time.After(copySettle):
		}
	}
	return written, nil
}

func (k *Installer) forProxy(data []byte) atomicfile.File {
	return atomicfile.File{Data: data, Mode: 0o640, UID: atomicfile.KeepOwner, GID: k.Layout.ComponentGID}
}

// inUnit escapes a path for a systemd unit (systemd.unit(5), specifiers).
func inUnit(path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsFunc(path, unicode.IsControl) || strings.TrimSpace(path) != path {
		return "", fmt.Errorf("the path %q cannot be in a unit of systemd", path)
	}
	return strings.ReplaceAll(path, "%", "%%"), nil
}
