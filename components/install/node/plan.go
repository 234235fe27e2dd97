// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// plan is one installation. newPlan reads everything that the steps need, and writes nothing.
type plan struct {
	*Installer
	Options
	journal *journal.Journal
	setup   *setup
	// proxy is the address on which the proxy of this node must listen.
	proxy string
	// loopbackFrom is the origin of LoopbackClients. formerLoopback is the setting before this run, and
	// empty if there was none. clusterLoopback is that of the cluster, which may have none.
	loopbackFrom                    LoopbackSource
	formerLoopback, clusterLoopback LoopbackClients
	// restart becomes true when a change needs a restart of the kubelet.
	restart bool
}

func (k *Installer) newPlan(ctx context.Context, o Options) (*plan, error) {
	p := &plan{Installer: k, Options: o}
	var err error
	if p.setup, err = k.inspect(ctx); err != nil {
		return nil, err
	}
	if _, err := os.ReadFile(p.setup.clientCA); err != nil {
		return nil, fmt.Errorf("reading the cluster's client CA: %w", err)
	}
	proxy, err := k.findProxy(ctx, min(proxyGrace, o.Timeout))
	if err != nil {
		return nil, err
	}
	p.proxy = proxy.Address
	if err := p.resolveLoopback(proxy); err != nil {
		return nil, err
	}
	return p, p.waitStarted(ctx)
}

// proxyGrace is the time that the cluster has to create the proxy pod of a new node.
const proxyGrace = 30 * time.Second

// findProxy fails if this node has no proxy: without a proxy, no client could reach the kubelet. A
// node can only see the proxy pod that is bound to it.
func (k *Installer) findProxy(ctx context.Context, grace time.Duration) (proxy Proxy, err error) {
	err = k.Until(ctx, grace, "kubelet-auth-proxy of this node", func(ctx context.Context) error {
		proxy, err = k.System.Proxy(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("asking the API server for the proxy of this node: %w", err)
		case proxy.Address == "":
			return errors.New("the cluster has no such pod for this node, and without it the kubelet would be unreachable: " +
				"run `bulkhead install` on a control-plane host first (with --kubelet-api if the last run had " +
				"--kubelet-api=false)")
		}
		return nil
	})
	return proxy, err
}

// waitStarted waits until the proxy of this node runs, idle. If the kubelet stops while it starts a
// container, the container runtime can leave a container that is incomplete and frozen (cgroup v1).
// A kubelet that is behind its proxy already is not waited for: this run may repair the proxy.
func (p *plan) waitStarted(ctx context.Context) error {
	if p.setup.ours {
		return nil
	}
	err := p.Until(ctx, p.Timeout, "the start of kubelet-auth-proxy on this node", func(ctx context.Context) error {
		proxy, err := p.System.Proxy(ctx)
		if err == nil && proxy.Starting != "" {
			err = errors.New(proxy.Starting)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w\nthe kubelet is not restarted before that pod runs: see `kubectl -n kube-system describe pods "+
			"-l app.kubernetes.io/name=kubelet-auth-proxy`, then run `bulkhead node install` again", err)
	}
	return nil
}

func (p *plan) steps() []engine.Step {
	restart := "restart the kubelet on 127.0.0.1 and wait until it answers the proxy only"
	if p.LoopbackClients == LoopbackAllow {
		restart = "restart the kubelet on 127.0.0.1 and wait until it answers the proxy"
	}
	return []engine.Step{
		{Name: "make the certificate by which the kubelet knows the proxy", Apply: p.makeCertificates},
		{Name: "write the renewal of that certificate (systemd timer and path)", Apply: p.writeRenewal},
		{Name: "write the kubelet's configuration drop-in", Apply: p.writeDropIn},
		// The record must exist before the restart. After the restart, the certificate must be
		// renewed, even if this run is killed.
		{Name: "write the record of this node", Apply: p.writeRecord},
		{Name: restart, Apply: p.restartKubelet},
		{Name: "wait until the proxy answers on the node's address", Apply: p.waitProxy},
	}
}

func (p *plan) makeCertificates(ctx context.Context) (bool, error) {
	for _, dir := range []struct {
		path string
		mode fs.FileMode
	}{
		{p.Layout.KubeletProxy(), 0o750},
		{filepath.Join(p.Layout.KubeletProxy(), "crl"), 0o750},
		// The proxy writes only to this directory.
		{filepath.Join(p.Layout.KubeletProxy(), "crl-state"), 0o770},
	} {
		if err := p.journal.NewDir(dir.path, fs.ModeSetgid|dir.mode, p.Layout.ComponentGID); err != nil {
			return false, err
		}
	}
	// The journal needs these entries: the directories are not new in a second run, or if the kubelet
	// created one for the idle proxy. With LoopbackDeny, the second file is the first one.
	for _, file := range append(p.proxyFiles(), p.Layout.KubeletClientCA(), p.LoopbackClients.clientCAFile(p.Layout)) {
		if err := p.journal.NewFile(file); err != nil {
			return false, err
		}
	}
	clientCA, err := os.ReadFile(p.setup.clientCA)
	if err != nil {
		return false, err
	}
	wrote, err := p.journal.WriteFile(p.proxyClientCA(), p.forProxy(clientCA))
	if err != nil {
		return wrote, err
	}
	// If the kubelet does not read this file yet, a later step restarts it. The kubelet then reads
	// the new certificate.
	renewed, err := p.renewClient(ctx, p.Certificates, false, p.setup.ours)
	wrote = wrote || len(renewed) > 0
	if err != nil {
		return wrote, err
	}
	bundled, err := p.keepBundle(p.LoopbackClients == LoopbackAllow)
	return wrote || bundled, err
}

func (p *plan) writeRenewal(ctx context.Context) (changed bool, err error) {
	clientCA, err := inUnit(p.setup.clientCA)
	if err != nil {
		return false, err
	}
	serving, err := inUnit(p.setup.serving)
	if err != nil {
		return false, err
	}
	program, err := inUnit(p.Program)
	if err != nil {
		return false, err
	}
	state, err := inUnit(p.Layout.State)
	if err != nil {
		return false, err
	}
	replaced := strings.NewReplacer("PROGRAM", program, "STATE", state, "CLIENT_CA", clientCA,
		"DIRECTORY_OF_SERVING", filepath.Dir(serving))
	for _, unit := range []struct{ path, text string }{
		{p.Layout.RenewService(), renewService}, {p.Layout.RenewTimer(), renewTimer}, {p.Layout.RenewPath(), renewPath},
	} {
		wrote, err := p.journal.WriteFile(unit.path, public(replaced.Replace(unit.text)))
		changed = changed || wrote
		if err != nil {
			return changed, err
		}
	}
	if !changed {
		return false, nil
	}
	if _, err := p.System.Systemctl(ctx, "daemon-reload"); err != nil {
		return true, err
	}
	if _, err = p.System.Systemctl(ctx, "enable", "--now", host.RenewUnit+".timer", host.RenewUnit+".path"); err != nil {
		return true, err
	}
	// A running path unit would still watch the old files.
	_, err = p.System.Systemctl(ctx, "restart", host.RenewUnit+".path")
	return true, err
}

func (p *plan) writeDropIn(context.Context) (bool, error) {
	if err := p.journal.NewDir(p.Layout.KubeletConfigDir(), 0o700, atomicfile.KeepOwner); err != nil {
		return false, err
	}
	config := strings.ReplaceAll(p.LoopbackClients.dropIn(), "CLIENT_CA", p.LoopbackClients.clientCAFile(p.Layout))
	wroteConfig, err := p.journal.WriteFile(p.Layout.KubeletDropIn(), atomicfile.Private([]byte(config)))
	if err != nil {
		return wroteConfig, err
	}
	// If this directory exists, another program created it.
	if _, err := os.Stat(filepath.Dir(p.Layout.KubeletUnit())); errors.Is(err, fs.ErrNotExist) {
		if err := p.journal.NewDir(filepath.Dir(p.Layout.KubeletUnit()), 0o755, atomicfile.KeepOwner); err != nil {
			return wroteConfig, err
		}
	}
	unit := strings.ReplaceAll(kubeletUnit, "ARGS\"", p.setup.args+" "+p.configDirFlag()+"\"")
	wroteUnit, err := p.journal.WriteFile(p.Layout.KubeletUnit(), public(unit))
	p.restart = p.restart || wroteConfig || wroteUnit
	return wroteConfig || wroteUnit, err
}
