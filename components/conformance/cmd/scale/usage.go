// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// programs are the programs on the control plane whose use of CPU and memory is measured.
var programs = []string{"kube-apiserver", "etcd", "kube-controller-manager", "node-authorizer", "node-restriction"}

// host runs commands on the control plane's host, as root.
type host struct{ exec, node string }

func (h host) run(ctx context.Context, script string) (string, error) {
	args := append(strings.Fields(strings.ReplaceAll(h.exec, "{node}", h.node)), "sh", "-c", script)
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", args[0], err)
	}
	return string(out), nil
}

// usage is what a program has used: CPU time since its start, and resident memory.
type usage struct {
	cpu      time.Duration
	resident int64 // bytes
}

// script prints a line for each process: name, clock ticks of CPU, KiB of resident memory. The name
// in /proc/PID/comm has at most 15 characters, so the script reads the first argument.
const script = `for p in /proc/[0-9]*; do ` +
	`n=$(tr '\0' '\n' < $p/cmdline 2>/dev/null | head -n 1); [ -n "$n" ] || continue; ` +
	`t=$(sed 's/.*) //' $p/stat | cut -d' ' -f12,13); m=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' $p/status); ` +
	`echo "${n##*/} $t ${m:-0}"; done`

// ticks is the number of clock ticks a second in /proc, on every architecture that Linux supports
// today (USER_HZ).
const ticks = 100

// used returns the usage of each of the programs that runs.
func (h host) used(ctx context.Context) (map[string]usage, error) {
	out, err := h.run(ctx, script)
	if err != nil {
		return nil, fmt.Errorf("cannot read the use of CPU on %s: %w", h.node, err)
	}
	return parseUsage(out)
}

func parseUsage(text string) (map[string]usage, error) {
	wanted := map[string]bool{}
	for _, name := range programs {
		wanted[name] = true
	}
	all := map[string]usage{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 4 || !wanted[words[0]] {
			continue
		}
		user, err1 := strconv.ParseInt(words[1], 10, 64)
		system, err2 := strconv.ParseInt(words[2], 10, 64)
		kib, err3 := strconv.ParseInt(words[3], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, fmt.Errorf("cannot read the use of CPU from %q", line)
		}
		one := all[words[0]]
		one.cpu += time.Duration(user+system) * time.Second / ticks
		one.resident += kib << 10
		all[words[0]] = one
	}
	return all, nil
}
