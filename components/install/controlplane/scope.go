// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// planScope finds out if accounts were held to their nodes, and are no more.
func (p *plan) planScope() error {
	if p.NodeScope.On || p.NodesOnly {
		return nil
	}
	asks, err := scope.InForce(p.Layout)
	p.scopeEnds = asks || atomicfile.Exists(p.Layout.ScopeSyncManifest())
	return err
}

// scopeEnding is done first of all: the components that answer are told afterwards to
// answer no more, or every request of those accounts would be refused.
func (p *plan) scopeEnding() []engine.Step {
	if !p.scopeEnds {
		return nil
	}
	return []engine.Step{{Name: "stop kube-apiserver's requests about scoped accounts", Apply: p.stopAsking}}
}

// scopeEnded comes when kube-apiserver has its files. Where there was no node scope, or
// there still is, it is nothing.
func (p *plan) scopeEnded() []engine.Step {
	if !p.scopeEnds {
		return nil
	}
	return []engine.Step{{Name: "remove scope-sync", Apply: p.stopScopeSync}}
}

// stopAsking takes the entry and the webhook away. No server restarts for it.
func (p *plan) stopAsking(ctx context.Context) (changed bool, err error) {
	held, _, unread := scope.Accounts(p.Layout)
	if held > 0 || unread != nil {
		p.Note("without --%s no account is limited to its node any more: %s", scope.Flag,
			describeHeld(held, unread))
	}
	data, err := p.withoutEntry()
	if err != nil {
		return false, err
	}
	if changed, err = p.write(p.Layout.AuthorizationConfig(), data, 0o600); err != nil {
		return changed, err
	}
	removed, err := p.journal.RemoveFile(p.Layout.ScopeRegistration())
	if err != nil {
		return changed || removed, err
	}
	return changed || removed,
		p.Until(ctx, p.Timeout, "kube-apiserver without node scope", func(ctx context.Context) error {
			process, err := p.serving(ctx)
			if err != nil {
				return err
			}
			want, err := p.filesInForce()
			if err != nil {
				return err
			}
			return runsWith(process, want)
		})
}

func describeHeld(held int, unread error) string {
	if unread != nil {
		return "their number cannot be read"
	}
	return fmt.Sprintf("there were %d", held)
}

// withoutEntry is the file of the profile that is there. The running server takes no
// other: it drops no authorizer of its own without a restart.
func (p *plan) withoutEntry() ([]byte, error) {
	have, _, err := atomicfile.Read(p.Layout.AuthorizationConfig())
	if err != nil {
		return nil, err
	}
	profile := Hardened
	if !bytes.Contains(have.Data, []byte("- type: Node\n")) {
		profile = Parity
	}
	data, err := render.HostFile(p.Layout, profile.authorization())
	if err != nil {
		return nil, err
	}
	return data, apiserver.ValidateAuthorization(data)
}

// filesInForce is what a server runs with that has read its files as they are now.
// scope-sync writes them whenever an account comes or goes.
func (in *Installer) filesInForce() (cluster.Process, error) {
	config, _, err := atomicfile.Read(in.Layout.AuthorizationConfig())
	if err != nil {
		return cluster.Process{}, err
	}
	want := cluster.Process{AuthorizationHash: journal.Hash(config.Data)}
	if want.AdmissionHash, err = in.staticHash(); err != nil {
		return want, err
	}
	want.PolicyHash, err = in.policyHash()
	return want, err
}

// stopScopeSync comes when nobody asks about accounts any more. What other hosts need
// in the API stays.
func (p *plan) stopScopeSync(ctx context.Context) (changed bool, err error) {
	for _, file := range []string{p.Layout.ScopeSyncManifest(),
		filepath.Join(p.Layout.APIServer(), scope.KubeconfigName)} {
		removed, err := p.journal.RemoveFile(file)
		changed = changed || removed
		if err != nil {
			return changed, err
		}
	}
	others, err := p.runningElsewhere(ctx, scope.SyncName)
	if err != nil {
		return changed, err
	}
	if others != "" {
		p.Note("%s runs on %s too: what it may do stays", scope.SyncName, others)
		return changed, nil
	}
	objects, err := scope.Objects(scope.Options{})
	if err != nil {
		return changed, err
	}
	for _, object := range objects {
		have, err := p.Objects.Get(ctx, object)
		if err != nil {
			return changed, err
		}
		if have == nil {
			continue
		}
		if err := p.dropObject(ctx, have); err != nil {
			return changed, fmt.Errorf("%s %s: %w", have.GetKind(), have.GetName(), err)
		}
		changed = true
	}
	return changed, nil
}

// scopeRunning comes when the components answer about accounts: scope-sync lists them as
// soon as it runs.
func (p *plan) scopeRunning() []engine.Step {
	if !p.NodeScope.On {
		return nil
	}
	return []engine.Step{{Name: "run scope-sync (static pod) and wait until it is ready", Apply: p.runScopeSync}}
}

// runScopeSync comes when everybody whom it needs is there, the lists in which it writes
// among them. It needs no server that reads those already: until one does, it tells of
// every account that it is pending. Whoever may annotate an account can give it something
// to complain of, a list that is full for one: that must not stop an upgrade.
func (p *plan) runScopeSync(ctx context.Context) (bool, error) {
	again := atomicfile.Exists(p.Layout.ScopeSyncManifest())
	changed, err := p.write(p.Layout.ScopeSyncManifest(), p.scopeSync, 0o600)
	if err != nil {
		return changed, err
	}
	sync := StaticPod{Layout: p.Layout, MirrorPods: p.MirrorPods, Container: scope.SyncName}
	err = p.Until(ctx, p.Timeout, scope.SyncName, func(ctx context.Context) error {
		return sync.running(ctx, p.scopeSync)
	})
	if err != nil && again && ctx.Err() == nil && sync.upSince(ctx, p.scopeSync, p.Now()) {
		p.Note("%v\n             it runs and is not ready: see `bulkhead scope list` and its "+
			"log; the accounts that are listed stay so", err)
		err = nil
	}
	if err == nil {
		return changed, p.sayHostsWithoutScope(ctx)
	}
	if log := (host.Component{Name: scope.SyncName}).Tail(); log != "" {
		err = fmt.Errorf("%w\nthe end of its log:\n%s", err, log)
	}
	return changed, err
}

// sayHostsWithoutScope names the API servers that hold nobody.
func (p *plan) sayHostsWithoutScope(ctx context.Context) error {
	lacking, err := p.hostsWithout(ctx, scope.SyncName)
	if err == nil && lacking != "" {
		p.Note("the API servers of %s do not enforce node scope yet: run `bulkhead install --%s` there", lacking,
			scope.Flag)
	}
	return err
}

// authorizationNow is the authorization file with the accounts that are listed at this moment.
// kube-apiserver's manifest is annotated with the hash of the profile's file only, so that the
// entry and its list come and go without a restart.
func (p *plan) authorizationNow() ([]byte, error) {
	if !p.NodeScope.On {
		return p.authorization, nil
	}
	return scope.Authorization(p.Layout, p.authorization)
}

func (p *plan) writeScopeRegistration() (bool, error) {
	ca, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	data, err := scope.Registration(p.Layout, ca)
	if err != nil {
		return false, err
	}
	if err := apiserver.ValidateRegistration(data); err != nil {
		return false, err
	}
	return p.write(p.Layout.ScopeRegistration(), data, 0o600)
}

func (p *plan) writeScopeKubeconfig() (bool, error) {
	data, err := render.HostFile(p.Layout, manifests.NodeScopeKubeconfig)
	if err != nil {
		return false, err
	}
	return p.write(filepath.Join(p.Layout.APIServer(), scope.KubeconfigName), data, 0o600)
}
