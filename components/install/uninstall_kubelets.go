// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
)

// deleteGuards takes the proxies of all nodes away, with what they may, unless one stands
// before its kubelet: `bulkhead node uninstall` comes before the end of the proxy, or
// nobody would reach that kubelet meanwhile.
func (in *Installer) deleteGuards(ctx context.Context) (changed bool, err error) {
	there, err := in.guardsInCluster(ctx)
	if err != nil || len(there) == 0 {
		return false, err
	}
	others, err := in.elsewhere(ctx)
	if err != nil || others != "" {
		return false, err // deleteRBAC says so
	}
	behind, err := in.behindProxies(ctx)
	if err != nil || behind != "" {
		in.noteBehind(behind, "`bulkhead uninstall`")
		return false, err
	}
	for _, object := range there {
		if err := in.API.Delete(ctx, object); err != nil {
			return changed, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		changed = true
	}
	return changed, nil
}

// uninstallLeftovers is for a host that has nothing of ours any more: the cluster may
// have, if kubelets were still behind their proxies when the last host was uninstalled.
func (in *Installer) uninstallLeftovers(ctx context.Context) error {
	left, err := in.onlyGuardsAreLeft(ctx)
	switch {
	case err != nil:
		in.progress().note("whether kubelet-auth-proxy is still in the cluster could not be seen: %v", err)
	case left:
		_, err := in.progress().step("remove kubelet-auth-proxy from the nodes",
			func() (bool, error) { return in.deleteGuards(ctx) })
		return err
	}
	in.progress().say("Nothing had to be changed: nothing of Bulkhead is on this host.")
	return nil
}

// onlyGuardsAreLeft is false in a cluster where another host has our components.
func (in *Installer) onlyGuardsAreLeft(ctx context.Context) (bool, error) {
	there, err := in.guardsInCluster(ctx)
	if err != nil || len(there) == 0 {
		return false, err
	}
	objects, err := apiObjects()
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		have, err := in.API.Get(ctx, object)
		if err != nil || have != nil {
			return false, err
		}
	}
	return true, nil
}
