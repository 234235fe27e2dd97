// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
)

// program is one of ours that runs.
type program struct {
	*child.Process
	webhook string
	health  child.Health
}

// authorizer is a node-authorizer that runs.
type authorizer struct{ *program }

// startAuthorizer starts it as the static pod of the hardened profile does, and
// tells how long it took to be ready.
func (p *controlPlane) startAuthorizer(ctx context.Context) (*authorizer, time.Duration, error) {
	started, ready, err := p.startProgram(ctx, "node-authorizer", "1800MiB", "--mode=strict")
	return &authorizer{started}, ready, err
}

// startProgram starts a webhook of ours with the flags that all have, and tells how
// long it took to be ready.
func (p *controlPlane) startProgram(ctx context.Context, name, memoryLimit string, flags ...string) (*program, time.Duration, error) {
	secure, err := loopback.FreePort()
	if err != nil {
		return nil, 0, err
	}
	health, err := loopback.FreePort()
	if err != nil {
		return nil, 0, err
	}
	c, err := child.Start(ctx, p.dir, name, []string{"GOMEMLIMIT=" + memoryLimit}, append(flags,
		"--kubeconfig="+p.kubeconfig, fmt.Sprintf("--secure-port=%d", secure), fmt.Sprintf("--health-port=%d", health),
		"--tls-cert-file="+p.files.Server.CertFile, "--tls-private-key-file="+p.files.Server.KeyFile,
		"--client-ca-file="+p.files.CA.CertFile, "--allowed-client-names="+loopback.ClientName)...)
	if err != nil {
		return nil, 0, err
	}
	a := &program{
		Process: c, webhook: net.JoinHostPort("127.0.0.1", strconv.Itoa(secure)),
		health: child.Health("http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(health))),
	}
	if err := c.WaitUntil(ctx, readyTimeout, func() bool { return a.health.Ready(ctx) }); err != nil {
		c.Stop()
		return nil, 0, err
	}
	return a, time.Since(c.Started), nil
}
