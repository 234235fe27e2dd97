// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// step is one part of an installation.
type step struct {
	name string
	run  func(context.Context) (changed bool, err error)
}

// Install makes the host what the profile says, or leaves it as it was. The
// in-tree profile is an uninstallation.
func (in *Installer) Install(ctx context.Context, o Options) error {
	if o.Profile == InTree {
		if o.NodeScope.On {
			return fmt.Errorf("--%s: profile %s has nobody who could hold accounts to their nodes", nodeScopeFlag, InTree)
		}
		return in.Uninstall(ctx, o.Timeout)
	}
	if err := o.validate(); err != nil {
		return err
	}
	return in.locked(func() error { return in.install(ctx, o) })
}

func (in *Installer) install(ctx context.Context, o Options) error {
	if err := in.recover(ctx, o.Timeout); err != nil {
		return err
	}
	// A server that has just started can refuse even the administrator.
	if err := in.until(ctx, o.Timeout, "kube-apiserver", in.API.Ready); err != nil {
		return err
	}
	if err := in.Preflight(ctx, o); err != nil {
		return err
	}
	p, err := in.newPlan(ctx, o)
	if err != nil {
		return err
	}
	in.progress().say("Installing profile %s on this control-plane host", o.Profile)
	if p.before != nil && p.record.APIServer.Drifted && !p.before.APIServer.Drifted {
		in.progress().note("kube-apiserver's manifest was changed by somebody else since we wrote it: that change is kept")
	}
	p.journal, err = journal.Begin(in.Layout.journal(), installOperation(o.Profile))
	if err != nil {
		return fmt.Errorf("starting the journal: %w", err)
	}
	if o.NodesOnly {
		return in.installNodesOnly(ctx, p)
	}
	changed, err := in.perform(ctx, o, p.journal, p.steps())
	switch {
	case err != nil:
		return err
	case changed:
		in.progress().say("Profile %s is installed: our components decide.", o.Profile)
	default:
		in.progress().say("Nothing had to be changed: profile %s is installed.", o.Profile)
	}
	p.sayNodes()
	return nil
}

// perform runs the steps; if one fails it takes all of them back.
func (in *Installer) perform(ctx context.Context, o Options, j *journal.Journal, steps []step) (anything bool,
	err error) {
	for _, s := range steps {
		changed, err := in.progress().step(s.name, func() (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			return s.run(ctx)
		})
		if err != nil {
			return false, in.giveUp(fmt.Errorf("%s: %w", s.name, err), j, o)
		}
		anything = anything || changed
	}
	return anything, j.End()
}

// steps are in the order in which nothing depends on what is not there yet.
func (p *plan) steps() []step {
	return slices.Concat(p.scopeEnding(), []step{
		{"save kube-apiserver's manifest as it is", p.saveOriginal},
		{"make certificates", p.makeCertificates},
		{"apply the components' RBAC", p.applyRBAC},
		// Before node-restriction is asked: it refuses mirror pods elsewhere.
		{"open namespace kube-system to mirror pods", p.openNamespace},
		// Before the API server restarts: afterwards the kubelet takes half a minute
		// to say how a pod is.
		{"run the certificate renewal (static pod)", p.runCerts},
		{"run the approver of kubelets' serving certificates (static pod)", p.runApprover},
		{"run kubelet-auth-proxy on the nodes (DaemonSet)", p.runProxy},
		// Before the API server has to ask it: without an answer no node writes.
		{"run node-restriction (static pod) and wait until it is ready", p.runRestriction},
	}, p.serverSteps(), p.scopeEnded(), []step{
		{"tell kubeadm (ConfigMap kubeadm-config)", p.tellKubeadm},
		{"write the record of this installation", p.writeRecord},
	})
}

// serverSteps have kube-apiserver ask our components. scope-sync starts before it
// restarts, like the other static pods, but never before the authorizer that is to answer
// about the accounts which it lists.
func (p *plan) serverSteps() []step {
	authorizer := []step{{"run the node authorizer (static pod) and wait until it is ready", p.runAuthorizer}}
	files := []step{
		{"write the API server's authorization file", p.writeAuthorization},
		{"write the API server's admission files", p.writeAdmission},
	}
	server := []step{
		{"switch kube-apiserver to them and wait until our components decide", p.switchServer},
		{"register node-restriction through the API where the server needs that", p.register},
		{"register the policy about nodes/proxy through the API where the server needs that", p.registerNodesProxy},
	}
	if p.floorReturns() {
		server = append(server, step{"leave to in-tree NodeRestriction what it checks again", p.letGo})
	}
	switch {
	case p.before == nil || p.before.Profile == p.Profile:
		return slices.Concat(authorizer, files, p.scopeRunning(), server)
	case p.before.Profile == Parity && p.Profile == Hardened:
		// Without in-tree Node nobody else decides for nodes: bring it back before
		// the authorizer restarts.
		return slices.Concat(files, server, authorizer, p.scopeRunning())
	}
	// A running server refuses another profile's file until it restarts, and as long as
	// that is so scope-sync has something to complain of.
	return slices.Concat(authorizer, files, server, p.scopeRunning())
}
