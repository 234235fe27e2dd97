// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// planScope finds out if accounts were held to their nodes, and are no more.
func (p *plan) planScope() error {
	if p.NodeScope.On || p.NodesOnly {
		return nil
	}
	asks, err := p.Layout.asksAboutAccounts()
	p.scopeEnds = asks || exists(p.Layout.ScopeSyncManifest())
	return err
}

// scopeEnding is done first of all: the components that answer are told afterwards to
// answer no more, or every request of those accounts would be refused.
func (p *plan) scopeEnding() []step {
	if !p.scopeEnds {
		return nil
	}
	return []step{{"have kube-apiserver ask about no account any more", p.stopAsking}}
}

// scopeEnded comes when kube-apiserver has its files. Where there was no node scope, or
// there still is, it is nothing.
func (p *plan) scopeEnded() []step {
	if !p.scopeEnds {
		return nil
	}
	return []step{{"remove scope-sync", p.stopScopeSync}}
}

// stopAsking takes the entry and the webhook away. No server restarts for it.
func (p *plan) stopAsking(ctx context.Context) (changed bool, err error) {
	held, _, unread := p.Layout.ScopedAccounts()
	if held > 0 || unread != nil {
		p.progress().note("without --%s no account is held to its node any more: %s", nodeScopeFlag,
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
		p.until(ctx, p.Timeout, "kube-apiserver, to ask about no account", func(ctx context.Context) error {
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
		return "how many there were cannot be read"
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
	data, err := p.Layout.hostFile(profile.authorization())
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
	want := cluster.Process{AuthorizationHash: hash(config.Data)}
	if want.AdmissionHash, err = in.staticHash(); err != nil {
		return want, err
	}
	want.PolicyHash, err = in.policyHash()
	return want, err
}

// stopScopeSync comes when nobody asks about accounts any more. What other hosts need
// in the API stays.
func (p *plan) stopScopeSync(ctx context.Context) (changed bool, err error) {
	for _, file := range []string{p.Layout.ScopeSyncManifest(), filepath.Join(p.Layout.APIServer(), scopeKubeconfig)} {
		removed, err := p.journal.RemoveFile(file)
		changed = changed || removed
		if err != nil {
			return changed, err
		}
	}
	others, err := p.runningElsewhere(ctx, scopeSyncName)
	if err != nil {
		return changed, err
	}
	if others != "" {
		p.progress().note("%s runs on %s too: what it may do stays", scopeSyncName, others)
		return changed, nil
	}
	objects, err := scopeObjects(NodeScope{})
	if err != nil {
		return changed, err
	}
	for _, object := range objects {
		have, err := p.API.Get(ctx, object)
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
