// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

const (
	// idleInterval is how often an idle proxy looks for its files.
	idleInterval = time.Second
	// idleReminder is the time from one log line of an idle proxy to the next.
	idleReminder = time.Hour
)

// IdleConfig is the configuration of [WaitForFiles].
type IdleConfig struct {
	// HealthAddress is a loopback address.
	HealthAddress string
	HealthPort    int
	// KubeletPort is the kubelet's port. While no process listens on it outside of loopback, an idle
	// proxy is not ready: no client can reach the kubelet.
	KubeletPort int
	// Files are what `bulkhead node install` writes. They are in one directory.
	Files    []string
	Registry metrics.KubeRegistry
	Gatherer metrics.Gatherer
}

// WaitForFiles returns when all files exist. Until then the node is not guarded: the kubelet has its
// port, and WaitForFiles serves only the health endpoints. It returns an error if the directory of
// the files is deleted: a mount of it never shows the files of a new directory. It returns the error
// of ctx if that ends first.
func WaitForFiles(ctx context.Context, config IdleConfig) error {
	idle := metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_kubelet_proxy_idle",
		Help: "Whether the proxy waits for `bulkhead node install` on this node, which is not guarded.",
	})
	config.Registry.MustRegister(idle)
	idle.Set(0)
	if missing(config.Files) == "" {
		return nil
	}
	dir, err := os.Open(filepath.Dir(config.Files[0]))
	if err != nil {
		return fmt.Errorf("cannot wait for the files of this node: %w", err)
	}
	defer dir.Close() //nolint:errcheck // nothing was written
	idle.Set(1)
	defer idle.Set(0)
	listener, err := bind(ctx, config.HealthAddress, config.HealthPort)
	if err != nil {
		return err
	}
	probes := healthServer(ctx, []serve.Check{kubeletListens("/proc", config.KubeletPort)}, config.Gatherer)
	var serving sync.WaitGroup
	serving.Go(func() { _ = probes.Serve(listener) })
	defer serving.Wait()
	defer probes.Close() //nolint:errcheck // it serves only probes
	return waitForFiles(ctx, dir, config.Files)
}

func waitForFiles(ctx context.Context, dir *os.File, files []string) error {
	ticker := time.NewTicker(idleInterval)
	defer ticker.Stop()
	var logged time.Time
	for {
		file := missing(files)
		if file == "" {
			klog.FromContext(ctx).Info("The files of this node exist: kubelet-auth-proxy starts")
			return nil
		}
		if deleted(dir) {
			return fmt.Errorf("the directory %s was deleted: a restart mounts the new one", dir.Name())
		}
		if time.Since(logged) >= idleReminder {
			logged = time.Now()
			klog.FromContext(ctx).Info("This node is not guarded, and kubelet-auth-proxy is idle: "+
				"run `bulkhead node install` on its host", "missing", file)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// missing returns the first file that does not exist. A file that cannot be read counts as present,
// so that the error is reported when the file is loaded.
func missing(files []string) string {
	for _, file := range files {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return file
		}
	}
	return ""
}

// deleted reports whether an open directory was deleted. The number of links does not show it on
// every file system (overlayfs), but the kernel adds a suffix to the name of a deleted file
// (proc(5), /proc/pid/fd).
func deleted(dir *os.File) bool {
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	return err == nil && strings.HasSuffix(name, " (deleted)")
}

// kubeletListens is met while a process listens on the port outside of loopback. It reads the
// kernel's table of sockets: a connection every few seconds would fill the kubelet's log.
func kubeletListens(proc string, port int) serve.Check {
	return func() string {
		for _, table := range []string{"tcp", "tcp6"} {
			data, err := os.ReadFile(filepath.Join(proc, "net", table))
			if err == nil && listens(string(data), port) {
				return ""
			}
		}
		return "the kubelet, which does not listen on an address of the node, and the files of this node"
	}
}

// listens reports whether a socket in the table listens on the port outside of loopback. table is in
// the format of /proc/net/tcp (proc(5)).
func listens(table string, port int) bool {
	const listening, local, state = "0A", 1, 3
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= state || fields[state] != listening {
			continue
		}
		address, at, _ := strings.Cut(fields[local], ":")
		if at == fmt.Sprintf("%04X", port) && !parseSocket(address).Unmap().IsLoopback() {
			return true
		}
	}
	return false
}

// parseSocket reads an address of that table: each four bytes are a number in the byte order of the
// machine.
func parseSocket(text string) netip.Addr {
	data, err := hex.DecodeString(text)
	if err != nil || len(data)%4 != 0 {
		return netip.Addr{}
	}
	for word := data; len(word) > 0; word = word[4:] {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	address, _ := netip.AddrFromSlice(data)
	return address
}
