// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// evictGrace is how long the proxy has to let go of the port.
const evictGrace = 5 * time.Second

// Evict ends the proxy if it holds the kubelet's port, and refuses to end anybody
// else. The kubelet must not run: it would start the proxy again.
func (h NodeHost) Evict(ctx context.Context) error {
	signal, deadline := syscall.SIGTERM, time.Now().Add(evictGrace)
	for {
		holders, held, err := holdersOf("/proc", kubeletPort)
		if err != nil || !held {
			return err
		}
		if time.Now().After(deadline) {
			if signal == syscall.SIGKILL {
				return fmt.Errorf("port %d is still held by %v", kubeletPort, holders)
			}
			signal, deadline = syscall.SIGKILL, time.Now().Add(evictGrace)
		}
		for pid, name := range holders {
			if name != proxyName {
				return fmt.Errorf("port %d is held by process %d (%s), which is not kubelet-auth-proxy", kubeletPort, pid, name)
			}
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("ending kubelet-auth-proxy: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// holdersOf are the processes that listen on a TCP port in this network namespace,
// with the names of their programs. The port can be held and nobody seen to hold it,
// when a process is just ending.
func holdersOf(proc string, port int) (holders map[int]string, held bool, err error) {
	sockets := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join(proc, "self", "net", table))
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			return nil, false, err
		}
		listeners(string(data), port, sockets)
	}
	if len(sockets) == 0 {
		return nil, false, nil
	}
	holders = map[int]string{}
	links, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	if err != nil {
		return nil, true, err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || !sockets[target] {
			continue // gone meanwhile, or another file
		}
		dir := filepath.Dir(filepath.Dir(link))
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		program, _, _ := strings.Cut(string(cmdline), "\x00")
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			holders[pid] = filepath.Base(program)
		}
	}
	return holders, true, nil
}

// listeners adds the sockets of a table (proc(5), /proc/net/tcp) that listen on port.
func listeners(table string, port int, sockets map[string]bool) {
	const listening, local, state, inode = "0A", 1, 3, 9
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= inode || fields[state] != listening ||
			!strings.HasSuffix(fields[local], fmt.Sprintf(":%04X", port)) {
			continue
		}
		sockets["socket:["+fields[inode]+"]"] = true
	}
}
