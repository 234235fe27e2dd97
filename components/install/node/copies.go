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

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// servingFile is where a kubelet keeps the serving certificate that the cluster gave it,
// with its key: a link that it points elsewhere when there is another one
// (client-go util/certificate/certificate_store.go).
const servingFile = "kubelet-server-current.pem"

// copied is a file that kubelet-auth-proxy reads as a copy: in a directory in which there
// is nothing else that it might read.
type copied struct {
	name, from, to string
	// later is true for one that need not be there yet.
	later bool
}

func (k *Installer) copies(clientCA, serving string) []copied {
	return []copied{
		{name: "client-ca", from: clientCA, to: k.proxyClientCA()},
		{name: "kubelet-serving", from: serving, to: filepath.Join(k.Layout.KubeletProxy(), "kubelet-serving.pem"),
			later: true},
	}
}

func (k *Installer) proxyClientCA() string {
	return filepath.Join(k.Layout.KubeletProxy(), "client-ca.crt")
}

// follow brings the copies up to date and names those that it has written. The proxy reads
// them again at once.
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

// copySettle is how long a file has to stay as it is to count as copied. systemd starts
// what copies once for changes that come together, and may have done so after the first.
const copySettle = time.Second

// mostCopies bounds how often a run copies: what changes all the time is left to the next.
const mostCopies = 10

// settled follows until nothing changes any more.
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

// inUnit is a path as systemd reads it in a unit (systemd.unit(5), specifiers).
func inUnit(path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsFunc(path, unicode.IsControl) || strings.TrimSpace(path) != path {
		return "", fmt.Errorf("the path %q cannot be in a unit of systemd", path)
	}
	return strings.ReplaceAll(path, "%", "%%"), nil
}
