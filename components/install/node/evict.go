// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

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

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

// evictGrace is the time that the proxy has to end after each signal.
const evictGrace = 5 * time.Second

// Evict ends the proxy, idle or not. If another program listens on the kubelet's port, Evict fails
// and does not end it. The kubelet must not run, because it would start the proxy again.
func (h LocalHost) Evict(ctx context.Context) error {
	signal, deadline := syscall.SIGTERM, time.Now().Add(evictGrace)
	for {
		owners, inUse, err := proxyOwners("/proc", kubeletPort)
		if err != nil {
			return err
		}
		proxies, err := processes("/proc", host.KubeletAuthProxy)
		if err != nil || !inUse && len(proxies) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			if signal == syscall.SIGKILL {
				return fmt.Errorf("kubelet-auth-proxy has not ended: processes %v; owners of port %d: %v", proxies, kubeletPort,
					owners)
			}
			signal, deadline = syscall.SIGKILL, time.Now().Add(evictGrace)
		}
		if err := signalAll(proxies, signal); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// proxyOwners is [portOwners], and an error if another program than kubelet-auth-proxy listens.
func proxyOwners(proc string, port int) (owners map[int]string, inUse bool, err error) {
	owners, inUse, err = portOwners(proc, port)
	for pid, name := range owners {
		if name != host.KubeletAuthProxy {
			return nil, inUse, fmt.Errorf("port %d is in use by process %d (%s), which is not kubelet-auth-proxy", port, pid,
				name)
		}
	}
	return owners, inUse, err
}

func signalAll(processes []int, signal syscall.Signal) error {
	for _, pid := range processes {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending kubelet-auth-proxy: %w", err)
		}
	}
	return nil
}

// processes returns the processes of a program in the network namespace of this process. A pod
// without the host's network can have any name in its arguments, and is not among them.
func processes(proc, program string) ([]int, error) {
	own, err := os.Readlink(filepath.Join(proc, "self", "ns", "net"))
	if err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	if err != nil {
		return nil, err
	}
	var found []int
	for _, dir := range dirs {
		if programOf(dir) != program {
			continue
		}
		// A process without a namespace has ended, and its parent has not read its status yet.
		if namespace, err := os.Readlink(filepath.Join(dir, "ns", "net")); err != nil || namespace != own {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			found = append(found, pid)
		}
	}
	return found, nil
}

// programOf returns the name of the program of a process, or "." if the process has ended.
func programOf(dir string) string {
	cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	program, _, _ := strings.Cut(string(cmdline), "\x00")
	return filepath.Base(program)
}

// portOwners returns the processes that listen on a TCP port in this network namespace, with the
// names of their programs. inUse can be true although owners is empty, if a process is just ending.
func portOwners(proc string, port int) (owners map[int]string, inUse bool, err error) {
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
	owners = map[int]string{}
	links, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	if err != nil {
		return nil, true, err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || !sockets[target] {
			continue // the process has ended, or this is not a socket
		}
		dir := filepath.Dir(filepath.Dir(link))
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			owners[pid] = programOf(dir)
		}
	}
	return owners, true, nil
}

// listeners adds the sockets that listen on port. table is in the format of /proc/net/tcp
// (proc(5)).
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
