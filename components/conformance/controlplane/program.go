// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/subprocess"
)

// Program is a webhook that runs in a separate process.
type Program struct {
	*subprocess.Process
	// Address is the host:port of the webhook.
	Address string
	Health  subprocess.Health
	// Ready is the time from start until ready.
	Ready time.Duration
}

// StartProgram starts a webhook with the common flags, and waits until it is ready.
func (p *ControlPlane) StartProgram(
	ctx context.Context,
	program string,
	env []string,
	flags ...string,
) (*Program, error) {
	secure, err := loopback.FreePort()
	if err != nil {
		return nil, err
	}
	health, err := loopback.FreePort()
	if err != nil {
		return nil, err
	}
	process, err := subprocess.Start(ctx, p.dir, program, env, append(flags,
		"--kubeconfig="+p.Kubeconfig, fmt.Sprintf("--secure-port=%d", secure), fmt.Sprintf("--health-port=%d", health),
		"--tls-cert-file="+p.Files.Server.CertFile, "--tls-private-key-file="+p.Files.Server.KeyFile,
		"--client-ca-file="+p.Files.CA.CertFile, "--allowed-client-names="+loopback.ClientName)...)
	if err != nil {
		return nil, err
	}
	started := &Program{
		Process: process,
		Address: loopback.Address(secure),
		Health:  subprocess.Health("http://" + loopback.Address(health)),
	}
	if err := process.WaitUntil(ctx, readyTimeout, func() bool { return started.Health.Ready(ctx) }); err != nil {
		process.Stop()
		return nil, err
	}
	started.Ready = time.Since(process.Started)
	return started, nil
}
