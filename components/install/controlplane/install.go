// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

// Install installs a profile on the host. If it fails, it restores the old state. The profile
// in-tree means an uninstallation.
func (in *Installer) Install(ctx context.Context, o Options) error {
	if o.Profile == InTree {
		if o.NodeScope.On {
			return fmt.Errorf("--%s: profile %s does not support node scope; leave the flag out", scope.Flag, InTree)
		}
		return in.Uninstall(ctx, o.Timeout)
	}
	if err := o.validate(); err != nil {
		return err
	}
	return in.LockedWithin(ctx, engine.Patience, func() error {
		return in.lockedForAllHosts(ctx, o.Timeout, func(lock *hosts.Lock) error { return in.install(ctx, o, lock) })
	})
}

func (in *Installer) install(ctx context.Context, o Options, lock *hosts.Lock) error {
	transaction := in.transaction(o.Timeout)
	if err := transaction.Recover(ctx); err != nil {
		return err
	}
	// A server that has just started can deny even the administrator's requests.
	if err := in.Until(ctx, o.Timeout, "kube-apiserver", in.Server.Ready); err != nil {
		return err
	}
	// A recovery goes on without the lock if the server does not answer. The rest needs it.
	if err := lock.Acquire(ctx); err != nil {
		return err
	}
	if err := in.Preflight(ctx, o); err != nil {
		return err
	}
	p, err := in.newPlan(ctx, o)
	if err != nil {
		return err
	}
	in.Logf("Installing profile %s on this control-plane host", o.Profile)
	if p.before != nil && p.record.APIServer.Drifted && !p.before.APIServer.Drifted {
		in.Note("kube-apiserver's manifest was changed since the last installation: that change stays")
	}
	if p.journal, err = transaction.Begin(installOperation(o.Profile)); err != nil {
		return err
	}
	steps := p.steps()
	if o.NodesOnly {
		steps = p.nodesOnlySteps()
	}
	changed, err := transaction.Apply(ctx, p.journal, steps)
	if err != nil {
		return err
	}
	p.printResult(changed)
	return nil
}

func (p *plan) printResult(changed bool) {
	switch {
	case p.NodesOnly && changed:
		p.Logf("The cluster is ready for `bulkhead node install` on every node; then run this without --nodes-only.")
	case p.NodesOnly:
		p.Logf("Nothing had to be changed: the cluster is ready for `bulkhead node install`.")
	case changed:
		p.Logf("Profile %s is installed: Bulkhead decides.", p.Profile)
	default:
		p.Logf("Nothing had to be changed: profile %s is installed.", p.Profile)
	}
	if !p.NodesOnly {
		p.printNodes()
	}
}

// steps are in an order in which each step has what it needs.
func (p *plan) steps() []engine.Step {
	return slices.Concat(p.scopeEnding(), []engine.Step{
		{Name: "save kube-apiserver's manifest as it is", Apply: p.saveOriginal},
		{Name: "make certificates", Apply: p.makeCertificates},
		{Name: "apply the components' RBAC", Apply: p.applyRBAC},
		// This comes before kube-apiserver calls node-restriction, which denies mirror pods in
		// other namespaces.
		{Name: "open namespace kube-system to mirror pods", Apply: p.openNamespace},
		// This comes before the API server restarts. After a restart, the kubelet needs half a
		// minute to report the status of a pod.
		{Name: "run the certificate renewal (static pod)", Apply: p.runCerts},
		{Name: "run the approver of kubelets' serving certificates (static pod)", Apply: p.runApprover},
		{Name: "run kubelet-auth-proxy on the nodes (DaemonSet)", Apply: p.runProxy},
		// This comes before the API server calls it. If node-restriction does not answer, no node
		// can write.
		{Name: "run node-restriction (static pod) and wait until it is ready", Apply: p.runRestriction},
	}, p.serverSteps(), p.scopeEnded(), []engine.Step{
		{Name: "list this host (ConfigMap " + hosts.ConfigMapName + ")", Apply: p.writeEntry},
		// This comes after the host is listed: the last host of the control plane edits it.
		{Name: "tell kubeadm (ConfigMap kubeadm-config)", Apply: p.tellKubeadm},
		{Name: "write the record of this installation", Apply: p.writeRecord},
	})
}

// serverSteps make kube-apiserver call Bulkhead's components. Like the other static pods,
// scope-sync starts before kube-apiserver restarts. But node-authorizer must start first, because
// it answers requests about the accounts that scope-sync lists.
func (p *plan) serverSteps() []engine.Step {
	authorizer := []engine.Step{{Name: "run the node authorizer (static pod) and wait until it is ready",
		Apply: p.runAuthorizer}}
	files := []engine.Step{
		{Name: "write the API server's authorization file", Apply: p.writeAuthorization},
		{Name: "write the API server's admission files", Apply: p.writeAdmission},
	}
	server := []engine.Step{
		{Name: "switch kube-apiserver to them and wait until Bulkhead decides", Apply: p.switchServer},
		{Name: "register node-restriction through the API where the server needs that", Apply: p.register},
		{Name: "register the policy about nodes/proxy through the API where the server needs that",
			Apply: p.registerNodesProxy},
	}
	if p.floorReturns() {
		server = append(server, engine.Step{Name: "leave to in-tree NodeRestriction what it checks again", Apply: p.letGo})
	}
	switch {
	case p.before == nil || p.before.Profile == p.Profile:
		return slices.Concat(authorizer, files, p.scopeRunning(), server)
	case p.before.Profile == Parity && p.Profile == Hardened:
		// Without the in-tree authorizer Node, only node-authorizer decides for nodes. Enable Node
		// before node-authorizer restarts.
		return slices.Concat(files, server, authorizer, p.scopeRunning())
	}
	// A running server rejects the file of another profile until it restarts. Until then,
	// scope-sync would report an error.
	return slices.Concat(authorizer, files, server, p.scopeRunning())
}
