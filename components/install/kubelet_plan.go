// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// kubeletPlan is one installation with everything read, and nothing written.
type kubeletPlan struct {
	*KubeletInstaller
	KubeletOptions
	journal *journal.Journal
	setup   *kubeletSetup
	// proxy is where the proxy on this node shall listen.
	proxy string
	// restart is true once something has changed that a running kubelet does not see.
	restart bool
}

func (k *KubeletInstaller) newPlan(ctx context.Context, o KubeletOptions) (*kubeletPlan, error) {
	p := &kubeletPlan{KubeletInstaller: k, KubeletOptions: o}
	var err error
	if p.setup, err = k.inspect(ctx); err != nil {
		return nil, err
	}
	if _, err := os.ReadFile(p.setup.clientCA); err != nil {
		return nil, fmt.Errorf("reading the cluster's client CA: %w", err)
	}
	p.proxy, err = k.findProxy(ctx, min(proxyGrace, o.Timeout))
	return p, err
}

// proxyGrace is how long the cluster has to give a new node its proxy.
const proxyGrace = 30 * time.Second

// findProxy refuses a node without a proxy: behind none, nobody would reach the
// kubelet. What a node may see of it is the pod that is bound to it.
func (k *KubeletInstaller) findProxy(ctx context.Context, grace time.Duration) (address string, err error) {
	err = k.base().until(ctx, grace, "kubelet-auth-proxy of this node", func(ctx context.Context) error {
		var err error
		switch address, err = k.Host.ProxyAddress(ctx); {
		case err != nil:
			return fmt.Errorf("asking the API server for the proxy of this node: %w", err)
		case address == "":
			return errors.New("the cluster has no such pod for this node, and without it nobody would reach the kubelet: run " +
				"`bulkhead install` on a control-plane host first (with --kubelet-api if it was told otherwise before)")
		}
		return nil
	})
	return address, err
}

func (p *kubeletPlan) steps() []step {
	return []step{
		{"make the certificate by which the kubelet knows the proxy", p.makeCertificates},
		{"write the renewal of that certificate (systemd timer and path)", p.writeRenewal},
		{"write the kubelet's configuration drop-in", p.writeDropIn},
		// Before the restart: from then on the certificate has to be renewed, whatever
		// becomes of this run.
		{"write the record of this node", p.writeRecord},
		{"restart the kubelet on 127.0.0.1 and wait until it answers the proxy only", p.restartKubelet},
		{"wait until the proxy answers on the node's address", p.waitProxy},
	}
}

func (p *kubeletPlan) makeCertificates(ctx context.Context) (bool, error) {
	for _, dir := range []struct {
		path string
		mode fs.FileMode
	}{
		{p.Layout.KubeletProxy(), 0o750},
		{filepath.Join(p.Layout.KubeletProxy(), "crl"), 0o750},
		// The proxy writes here, and nowhere else.
		{filepath.Join(p.Layout.KubeletProxy(), "crl-state"), 0o770},
	} {
		if err := p.journal.NewDir(dir.path, fs.ModeSetgid|dir.mode, p.Layout.ComponentGID); err != nil {
			return false, err
		}
	}
	// In the journal although its directory is: that of a second run is not new.
	if err := p.journal.NewFile(p.Layout.KubeletClientCA()); err != nil {
		return false, err
	}
	clientCA, err := os.ReadFile(p.setup.clientCA)
	if err != nil {
		return false, err
	}
	wrote, err := p.journal.WriteFile(p.proxyClientCA(), p.forProxy(clientCA))
	if err != nil {
		return wrote, err
	}
	// A kubelet that does not read it yet is restarted by a later step, and has it then.
	renewed, err := p.renewClient(ctx, p.Certificates, false, p.setup.ours)
	return wrote || len(renewed) > 0, err
}

func (p *kubeletPlan) writeRenewal(ctx context.Context) (changed bool, err error) {
	clientCA, err := inUnit(p.setup.clientCA)
	if err != nil {
		return false, err
	}
	serving, err := inUnit(p.setup.serving)
	if err != nil {
		return false, err
	}
	replaced := strings.NewReplacer("PROGRAM", p.Program, "STATE", p.Layout.State, "CLIENT_CA", clientCA,
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
	if _, err := p.Host.Systemctl(ctx, "daemon-reload"); err != nil {
		return true, err
	}
	if _, err = p.Host.Systemctl(ctx, "enable", "--now", renewUnit+".timer", renewUnit+".path"); err != nil {
		return true, err
	}
	// One that watches already goes on with the files that it was told of first.
	_, err = p.Host.Systemctl(ctx, "restart", renewUnit+".path")
	return true, err
}

func (p *kubeletPlan) writeDropIn(context.Context) (bool, error) {
	if err := p.journal.NewDir(p.Layout.KubeletConfigDir(), 0o700, atomicfile.KeepOwner); err != nil {
		return false, err
	}
	config := strings.ReplaceAll(kubeletDropIn, "CLIENT_CA", p.Layout.KubeletClientCA())
	wroteConfig, err := p.journal.WriteFile(p.Layout.KubeletDropIn(), atomicfile.Private([]byte(config)))
	if err != nil {
		return wroteConfig, err
	}
	// Somebody else's, if it is there.
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
