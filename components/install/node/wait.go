// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

const (
	// hostPause is the time between two looks at this host. A machine may never join.
	hostPause = 2 * time.Second
	// mostAskPause is the longest time between two requests to the API server. A cluster may never
	// have the proxy, and have thousands of nodes.
	mostAskPause = 30 * time.Second
	// firstRetry and mostRetry are the shortest and the longest time after an installation that failed.
	// Each one restarts the kubelet up to two times.
	firstRetry, mostRetry = 30 * time.Second, 10 * time.Minute
)

// InstallWhenReady waits until this host can be installed, and installs it. It waits without a limit
// for the kubelet's credentials, and for the cluster's proxy on this node. Until then it changes
// nothing. An installation that failed is repeated. It returns nil when the kubelet is behind its
// proxy, and an error if the options are invalid or ctx ends.
func (k *Installer) InstallWhenReady(ctx context.Context, o Options) error {
	if err := host.ValidatePolicy(o.Certificates); err != nil {
		return err
	}
	ask, retry, reported := hostPause, firstRetry, ""
	for {
		pause := hostPause
		err := k.joined(ctx)
		if err == nil {
			pause, ask = ask, min(2*ask, mostAskPause)
			err = k.proxied(ctx)
		} else {
			ask = hostPause
		}
		if err == nil {
			if err = k.Install(ctx, o); err == nil || ctx.Err() != nil {
				return err
			}
			pause, retry = retry, min(2*retry, mostRetry)
			k.Logf("This is repeated in %s: %v", pause, err)
		} else if text := err.Error(); text != reported {
			reported = text
			k.Logf("Waiting: %v", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for this node: interrupted: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

// joined succeeds if this host is a node with a running kubelet. It asks only this host.
func (k *Installer) joined(ctx context.Context) error {
	if !atomicfile.Exists(k.Layout.KubeletConf) {
		return fmt.Errorf("this host has not joined a cluster: %s does not exist", k.Layout.KubeletConf)
	}
	if unfinished, err := k.Unfinished(); err != nil || unfinished {
		return err // Install recovers first
	}
	_, err := k.inspect(ctx)
	return err
}

// proxied succeeds if the cluster's proxy runs on this node.
func (k *Installer) proxied(ctx context.Context) error {
	switch proxy, err := k.System.Proxy(ctx); {
	case err != nil:
		return fmt.Errorf("asking the API server for the proxy of this node: %w", err)
	case proxy.Address == "":
		return errors.New("the cluster has no kubelet-auth-proxy for this node")
	case proxy.Starting != "" && !k.Installed():
		return errors.New(proxy.Starting)
	}
	return nil
}

// InstallUnit is the name of the systemd unit that runs `bulkhead node install --wait`. It is part of
// a machine image, and not of what this package installs.
const InstallUnit = "bulkhead-node-install.service"

// Unit returns that unit. It starts with the kubelet, also after `kubeadm join`, and ends when the
// kubelet is behind its proxy.
func Unit(program string, clients LoopbackClients) (string, error) {
	program, err := inUnit(program)
	if err != nil {
		return "", err
	}
	command := program + " node install --wait"
	if clients != "" {
		command += " --loopback-clients=" + string(clients)
	}
	return fmt.Sprintf(installUnit, command), nil
}
