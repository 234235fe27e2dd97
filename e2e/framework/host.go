// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Host runs commands on the hosts of nodes.
type Host struct {
	template string
	// why is the reason if there is no access. It is empty if there is access.
	why string
}

// newHost tests the access on one node. If E2E_NODE_EXEC is set, a failure is an error. If it is
// not set, access may be missing.
func newHost(ctx context.Context, s Settings, node string) (*Host, error) {
	if s.NodeExec == "" {
		return &Host{why: "E2E_NODE_EXEC is empty: no access to the hosts of nodes"}, nil
	}
	h := &Host{template: s.NodeExec}
	_, err := h.Run(ctx, node, "true")
	if err == nil {
		return h, nil
	}
	if s.NodeExecGiven {
		return nil, fmt.Errorf("E2E_NODE_EXEC: %w", err)
	}
	return &Host{why: fmt.Sprintf("no access to the hosts of nodes (set E2E_NODE_EXEC): %v", err)}, nil
}

// Missing returns the reason why there is no access to hosts. It is empty if there is access.
func (h *Host) Missing() string { return h.why }

// Run runs a shell script as root on the host of the node and returns its standard output. The
// script is sent on standard input, so no transport has to quote it.
func (h *Host) Run(ctx context.Context, node, script string) (string, error) {
	if h.why != "" {
		return "", errors.New(h.why)
	}
	cmd := h.command(ctx, node, "sh", "-s")
	cmd.Stdin = strings.NewReader(script)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(),
			fmt.Errorf("on %s: %q: %w: %s%s", node, firstLine(script), err, tail(stderr.String()), tail(stdout.String()))
	}
	return stdout.String(), nil
}

// command returns a command on the host of the node.
func (h *Host) command(ctx context.Context, node string, argv ...string) *exec.Cmd {
	argv = append(strings.Fields(strings.ReplaceAll(h.template, "{node}", node)), argv...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Put writes a program to a path on the host of the node. The program is encoded as text in a
// script, so the transport command needs no other feature.
func (h *Host) Put(ctx context.Context, node, path string, program []byte) error {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(program); err != nil {
		return fmt.Errorf("packing %s: %w", path, err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("packing %s: %w", path, err)
	}
	script := fmt.Sprintf("base64 -d <<'END-OF-PROGRAM' | gzip -d >%[1]s.new && chmod 755 %[1]s.new && mv %[1]s.new "+
		"%[1]s\n", path)
	var text strings.Builder
	text.WriteString(script)
	const width = 76
	for encoded := base64.StdEncoding.EncodeToString(packed.Bytes()); encoded != ""; {
		n := min(width, len(encoded))
		text.WriteString(encoded[:n] + "\n")
		encoded = encoded[n:]
	}
	text.WriteString("END-OF-PROGRAM\n")
	_, err := h.Run(ctx, node, text.String())
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func tail(s string) string {
	const limit = 2000
	if s = strings.TrimSpace(s); len(s) > limit {
		return "…" + s[len(s)-limit:]
	}
	return s
}
