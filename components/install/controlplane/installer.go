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
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// Component is a component of Bulkhead on this host.
type Component interface {
	Ready(context.Context) error
	// Start returns the start time of the process.
	Start(context.Context) (string, error)
	// Tail returns the end of the component's log.
	Tail() string
}

// Installer changes one control-plane host.
type Installer struct {
	engine.Engine
	Layout host.Layout
	// Version and Committed are those of the program: see [hosts.Program].
	Version, Committed string

	Server     Server
	Objects    Objects
	Kubeadm    Kubeadm
	Namespaces Namespaces
	Nodes      Nodes
	MirrorPods MirrorPods
	// ConfigMaps and Leases are those of kube-system. They have what the hosts share.
	ConfigMaps hosts.ConfigMaps
	Leases     hosts.Leases
	// ConfigHash returns the SHA-256 of the configuration that installs again what the record
	// describes. Hosts with equal settings have equal hashes.
	ConfigHash func(Record) (string, error)
	// Authorizer and Restriction are node-authorizer and node-restriction.
	Authorizer, Restriction Component
	// Preflight returns an error if an installation with these options would not enforce what the
	// profile describes.
	Preflight func(context.Context, Options) error
	// Kubelets returns an error that names the kubelets without a serving certificate of the
	// cluster. It returns nil if all kubelets have one. If Kubelets is nil, no kubelet counts as
	// having one.
	Kubelets func(context.Context) error
	// Settle is how long a server must answer before the installer accepts it as restored.
	Settle time.Duration
}

// transaction returns a transaction that restores the host if a step fails.
func (in *Installer) transaction(timeout time.Duration) engine.Transaction {
	return engine.Transaction{
		Engine: &in.Engine, Dir: in.Layout.Journal(),
		Revert: func(ctx context.Context, j *journal.Journal) error { return in.rollback(ctx, timeout, j) },
		Advice: fmt.Sprintf("run `bulkhead uninstall` on this host; if that fails too, %s is kube-apiserver's manifest "+
			"without Bulkhead", in.Layout.OriginalManifest()),
	}
}

// elsewhere names the other hosts that run a component of Bulkhead. If there are any, the shared
// API objects stay.
func (in *Installer) elsewhere(ctx context.Context) (string, error) {
	return in.runningElsewhere(ctx, host.NodeAuthorizer.Name, host.NodeRestriction.Name)
}

// runningElsewhere names the other hosts that run one of these components.
func (in *Installer) runningElsewhere(ctx context.Context, components ...string) (string, error) {
	var others []string
	for _, component := range components {
		nodes, err := in.Nodes.ComponentNodes(ctx, component)
		if err != nil {
			return "", err
		}
		others = append(others, nodes...)
	}
	// Every kubelet can create a mirror pod with that name. But no node can set the control-plane
	// label on itself.
	hosts, err := in.Nodes.ControlPlaneNodes(ctx)
	if err != nil {
		return "", err
	}
	own := in.Layout.NodeName()
	others = slices.DeleteFunc(others, func(node string) bool { return node == own || !slices.Contains(hosts, node) })
	slices.Sort(others)
	return strings.Join(slices.Compact(others), ", "), nil
}
