// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
)

// Names of the programs.
const (
	ours        = "kubelet-auth-proxy"
	bareProgram = "bareproxy"
)

// The sides, in the order of everything that has one of each.
const (
	Ours = iota
	Bare
	Direct
	Number
)

// Names are what the sides are called on the page.
var Names = [Number]string{"ours", "bare", "direct"}

// memoryLimit is that of the DaemonSet, for both proxies.
const memoryLimit = "GOMEMLIMIT=650MiB"

// Side is a way to the kubelet.
type Side struct {
	world *World
	// Address is host:port.
	Address string
	// Process is the proxy's; nil without one.
	Process *child.Process
	// Health is where the proxy tells its metrics.
	Health child.Health
	direct bool
	// profiles is where a proxy that can be profiled tells them.
	profiles child.Health
}

// Direct is the way without a proxy.
func (w *World) Direct() *Side { return &Side{world: w, Address: w.kubelet, direct: true} }

// StartOurs starts kubelet-auth-proxy with the flags that its DaemonSet has, and then
// with others. Its audit log goes to a file.
func (w *World) StartOurs(ctx context.Context, flags ...string) (*Side, error) {
	return w.startOurs(ctx, ours, nil, flags)
}

func (w *World) startOurs(ctx context.Context, program string, env, flags []string) (*Side, error) {
	return w.start(ctx, program, env, func(host, port, health string) []string {
		_, healthPort, _ := strings.Cut(health, ":")
		return append([]string{
			"--node-name=node", "--bind-addresses=" + host, "--secure-port=" + port, "--health-port=" + healthPort, "--mode=strict",
			"--kubelet-address=" + w.kubelet, "--kubeconfig=" + w.kubeconfig,
			"--tls-cert-file=" + w.node.Server.CertFile, "--tls-private-key-file=" + w.node.Server.KeyFile,
			"--kubelet-client-certificate=" + w.node.Client.CertFile, "--kubelet-client-key=" + w.node.Client.KeyFile,
			"--client-ca-file=" + w.callers.CA.CertFile, "--client-crl=" + w.revocation(), "--audit-log-path=" + filepath.Join(w.dir, "audit.log"),
		}, flags...)
	})
}

// StartBare starts the bare reverse proxy.
func (w *World) StartBare(ctx context.Context) (*Side, error) {
	return w.start(ctx, bareProgram, nil, func(host, port, health string) []string {
		return []string{
			"-address=" + net.JoinHostPort(host, port), "-health=" + health, "-kubelet=" + w.kubelet, "-kubelet-ca=" + w.node.CA.CertFile,
			"-cert=" + w.node.Server.CertFile, "-key=" + w.node.Server.KeyFile, "-client-ca=" + w.callers.CA.CertFile,
			"-kubelet-client-cert=" + w.node.Client.CertFile, "-kubelet-client-key=" + w.node.Client.KeyFile,
		}
	})
}

func (w *World) start(ctx context.Context, program string, env []string, args func(host, port, health string) []string) (*Side, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	s := &Side{world: w, Address: address, Health: child.Health("http://" + health)}
	if s.Process, err = child.Start(ctx, w.dir, program, append(env, memoryLimit), args(host, port, health)...); err != nil {
		return nil, err
	}
	ready := func() bool { return s.Health.Ready(ctx) && listens(address) }
	if err := s.Process.WaitUntil(ctx, readyTimeout, ready); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the proxy, if there is one.
func (s *Side) Stop() {
	if s.Process != nil {
		s.Process.Stop()
	}
}

// OnCores is the time that the proxy has on all cores while something is done; 0
// without a proxy.
func (s *Side) OnCores(do func() error) (time.Duration, error) {
	if s.Process == nil {
		return 0, do()
	}
	before, err := s.Process.CPU()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := s.Process.CPU()
	return after - before, err
}

// All starts a proxy of each kind, and has the way without one beside them.
func (w *World) All(ctx context.Context) (all [Number]*Side, stop func(), err error) {
	all[Direct] = w.Direct()
	stop = func() {
		for _, side := range all {
			if side != nil {
				side.Stop()
			}
		}
	}
	if all[Ours], err = w.StartOurs(ctx); err != nil {
		return all, stop, err
	}
	if all[Bare], err = w.StartBare(ctx); err != nil {
		stop()
	}
	return all, stop, err
}
