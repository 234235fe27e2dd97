// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
)

// scopeRunning comes when the components answer about accounts: scope-sync lists them as
// soon as it runs.
func (p *plan) scopeRunning() []step {
	if !p.NodeScope.On {
		return nil
	}
	return []step{{"run scope-sync (static pod) and wait until it is ready", p.runScopeSync}}
}

// runScopeSync comes when everybody whom it needs is there, the lists in which it writes
// among them. It needs no server that reads those already: until one does, it tells of
// every account that it is pending. Whoever may annotate an account can give it something
// to complain of, a list that is full for one: that must not stop an upgrade.
func (p *plan) runScopeSync(ctx context.Context) (bool, error) {
	again := exists(p.Layout.ScopeSyncManifest())
	changed, err := p.write(p.Layout.ScopeSyncManifest(), p.scopeSync, 0o600)
	if err != nil {
		return changed, err
	}
	sync := Renewer{Layout: p.Layout, API: p.API, Container: scopeSyncName}
	err = p.until(ctx, p.Timeout, scopeSyncName, func(ctx context.Context) error {
		return sync.running(ctx, p.scopeSync)
	})
	if err != nil && again && ctx.Err() == nil && sync.upSince(ctx, p.scopeSync, p.Now()) {
		p.progress().note("%v\n             it runs and has something to complain of: see `bulkhead scope list` and its "+
			"log; the accounts that are listed stay so", err)
		err = nil
	}
	if err == nil {
		return changed, p.sayHostsWithoutScope(ctx)
	}
	if log := (OnHost{Name: scopeSyncName}).Tail(); log != "" {
		err = fmt.Errorf("%w\nthe end of its log:\n%s", err, log)
	}
	return changed, err
}

// sayHostsWithoutScope names the API servers that hold nobody.
func (p *plan) sayHostsWithoutScope(ctx context.Context) error {
	lacking, err := p.hostsWithout(ctx, scopeSyncName)
	if err == nil && lacking != "" {
		p.progress().note("the API servers of %s hold no account to its node yet: run `bulkhead install --%s` there", lacking,
			nodeScopeFlag)
	}
	return err
}
