// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package controlplane installs Bulkhead on a kubeadm control-plane host, and uninstalls it.
//
// A journal on disk has the old state of each file and object before a step changes it. If a
// step fails, if the API server is not healthy in time, or if a run is interrupted, the
// installer restores the old state from the journal, the last change first. A run that was
// killed leaves its journal, and the next run restores the old state before it does anything
// else.
package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// Component is a component of Bulkhead on this host.
type Component interface {
	Ready(context.Context) error
	// Start returns when the running process began.
	Start(context.Context) (string, error)
	// Tail returns the end of its log.
	Tail() string
}

// Installer changes one control-plane host.
type Installer struct {
	engine.Engine
	Layout  host.Layout
	Version string

	Server     Server
	Objects    Objects
	Kubeadm    Kubeadm
	Namespaces Namespaces
	Nodes      Nodes
	MirrorPods MirrorPods
	// Authorizer and Restriction are the node authorizer and node-restriction.
	Authorizer, Restriction Component
	// Preflight refuses a host on which an installation with these options would not enforce what
	// the profile describes.
	Preflight func(context.Context, Options) error
	// Kubelets says which kubelets have no serving certificate of the cluster, or returns nil if all
	// have one. Without it, no kubelet counts as having one.
	Kubelets func(context.Context) error
	// Settle is how long a server must answer before it counts as back.
	Settle time.Duration
}

// transaction installs, or leaves the host as it was.
func (in *Installer) transaction(timeout time.Duration) engine.Transaction {
	return engine.Transaction{
		Engine: &in.Engine, Dir: in.Layout.Journal(),
		Revert: func(ctx context.Context, j *journal.Journal) error { return in.rollback(ctx, timeout, j) },
		Advice: fmt.Sprintf("run `bulkhead uninstall` on this host; if that fails too, %s is kube-apiserver's manifest "+
			"without Bulkhead", in.Layout.OriginalManifest()),
	}
}

// elsewhere names the other hosts on which a component of ours runs. What is
// shared in the API stays while there is one.
func (in *Installer) elsewhere(ctx context.Context) (string, error) {
	return in.runningElsewhere(ctx, host.NodeAuthorizer.Name, host.NodeRestriction.Name)
}

// runningElsewhere names the other hosts on which one of these components runs.
func (in *Installer) runningElsewhere(ctx context.Context, components ...string) (string, error) {
	var others []string
	for _, component := range components {
		nodes, err := in.Nodes.ComponentNodes(ctx, component)
		if err != nil {
			return "", err
		}
		others = append(others, nodes...)
	}
	// Every kubelet can make a mirror pod of that name. No node gives itself the label
	// of a control plane.
	hosts, err := in.Nodes.ControlPlaneNodes(ctx)
	if err != nil {
		return "", err
	}
	own := in.Layout.NodeName()
	others = slices.DeleteFunc(others, func(node string) bool { return node == own || !slices.Contains(hosts, node) })
	slices.Sort(others)
	return strings.Join(slices.Compact(others), ", "), nil
}
