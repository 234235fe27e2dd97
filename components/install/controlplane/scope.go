// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"fmt"
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

// planScope finds out whether this run switches node scope off.
func (p *plan) planScope() error {
	if p.NodeScope.On || p.NodesOnly {
		return nil
	}
	asks, err := scope.InForce(p.Layout)
	p.scopeEnds = asks || atomicfile.Exists(p.Layout.ScopeSyncManifest())
	return err
}

// scopeEnding comes first: kube-apiserver must stop its requests about scoped accounts before the
// components stop answering them. Otherwise every request of these accounts would be denied.
func (p *plan) scopeEnding() []engine.Step {
	if !p.scopeEnds {
		return nil
	}
	return []engine.Step{{Name: "stop kube-apiserver's requests about scoped accounts", Apply: p.stopAsking}}
}

// scopeEnded comes after kube-apiserver has its files. It has no steps unless this run switches
// node scope off.
func (p *plan) scopeEnded() []engine.Step {
	if !p.scopeEnds {
		return nil
	}
	return []engine.Step{{Name: "remove scope-sync", Apply: p.stopScopeSync}}
}

// stopAsking removes the authorizer entry and the webhook. No server restarts for that.
func (p *plan) stopAsking(ctx context.Context) (changed bool, err error) {
	scoped, _, unread := scope.Accounts(p.Layout)
	if scoped > 0 || unread != nil {
		p.Note("without --%s no account is limited to its node any more: %s", scope.Flag,
			describeScopedAccounts(scoped, unread))
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

func describeScopedAccounts(scoped int, unread error) string {
	if unread != nil {
		return "their number cannot be read"
	}
	return fmt.Sprintf("there were %d", scoped)
}

// withoutEntry returns the authorization file of the current profile. A running server accepts no
// other file: it cannot remove a built-in authorizer without a restart.
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

// filesInForce returns the hashes of a server that has read the current files. scope-sync writes
// these files whenever an account is added or removed.
func (in *Installer) filesInForce() (cluster.Process, error) {
	config, _, err := atomicfile.Read(in.Layout.AuthorizationConfig())
	if err != nil {
		return cluster.Process{}, err
	}
	want := cluster.Process{AuthorizationHash: journal.Hash(config.Data)}
	if want.AdmissionHash, err = in.staticHash(in.Layout.StaticManifests()); err != nil {
		return want, err
	}
	want.PolicyHash, err = in.staticHash(in.Layout.StaticPolicies())
	return want, err
}

// stopScopeSync runs when kube-apiserver no longer asks about scoped accounts. API objects that
// other hosts need stay.
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
	dropped, err := p.dropAll(ctx, objects)
	return changed || dropped, err
}

// scopeRunning runs when the components can answer about scoped accounts, because scope-sync lists
// them as soon as it runs.
func (p *plan) scopeRunning() []engine.Step {
	if !p.NodeScope.On {
		return nil
	}
	return []engine.Step{{Name: "run scope-sync (static pod) and wait until it is ready", Apply: p.runScopeSync}}
}

// runScopeSync runs when everything that scope-sync needs exists, including the lists that it
// writes. It does not need a server that already reads these lists: until there is one, scope-sync
// reports every account as pending.
//
// A user who may annotate accounts can make scope-sync report an error, for example with a full
// list. That must not stop an upgrade.
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
		return changed, p.printHostsWithoutScope(ctx)
	}
	if log := (host.Component{Name: scope.SyncName}).Tail(); log != "" {
		err = fmt.Errorf("%w\nthe end of its log:\n%s", err, log)
	}
	return changed, err
}

// printHostsWithoutScope names the API servers that do not enforce node scope.
func (p *plan) printHostsWithoutScope(ctx context.Context) error {
	lacking, err := p.hostsWithout(ctx, scope.SyncName)
	if err == nil && lacking != "" {
		p.Note("the API servers of %s do not enforce node scope yet: run `bulkhead install --%s` there", lacking,
			scope.Flag)
	}
	return err
}

// authorizationNow returns the authorization file with the accounts that are listed now. The
// annotation of kube-apiserver's manifest has the hash of the profile's file only. So the entry and
// its list can change without a restart.
func (p *plan) authorizationNow() ([]byte, error) {
	if !p.NodeScope.On {
		return p.authorization, nil
	}
	data, err := scope.Authorization(p.Layout, p.authorization)
	if err != nil || !p.Extensions.AuditOnly {
		return data, err
	}
	return failOpen(data), nil
}

// scopeRegistration returns the webhook configuration for scoped accounts. A failed call denies,
// unless the installation only audits: an outage must not give these accounts more rights. The user's
// failure policy for node-restriction is about nodes, and does not change this.
func (p *plan) scopeRegistration(ca []byte) ([]byte, error) {
	data, err := scope.Registration(p.Layout, ca)
	if err != nil || !p.Extensions.AuditOnly {
		return data, err
	}
	return failOpen(data), nil
}

func (p *plan) writeScopeRegistration() (bool, error) {
	return p.writeWebhooks(p.Layout.ScopeRegistration(), p.scopeRegistration)
}

func (p *plan) writeScopeKubeconfig() (bool, error) {
	data, err := render.HostFile(p.Layout, manifests.NodeScopeKubeconfig)
	if err != nil {
		return false, err
	}
	return p.write(filepath.Join(p.Layout.APIServer(), scope.KubeconfigName), data, 0o600)
}
