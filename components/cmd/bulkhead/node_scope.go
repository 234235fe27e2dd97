// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

const (
	nodeScopeFlag       = "node-scope"
	customResourcesFlag = "node-scope-custom-resources"
)

// addNodeScopeFlags binds what is said about accounts that are held to the nodes of their
// pods.
func addNodeScopeFlags(fs *pflag.FlagSet, s *scope.Options) {
	fs.BoolVar(&s.On, nodeScopeFlag, s.On,
		"Limit the tokens of pods to the pods' nodes, where an annotation of their ServiceAccount says so "+
			"(docs/node-scope.md). kube-apiserver must load webhooks from disk, as it does since 1.37. Without this flag, "+
			"the value of the last install. --node-scope=false removes it, and prints how many accounts were limited.")
	fs.StringVar(&s.CustomResources, customResourcesFlag, s.CustomResources,
		"With --node-scope: custom resources that name their node in a field, widgets.example.com=field:spec.node, or in a "+
			"label, gadgets.example.com=label:example.com/node. The node authorizer gets the right to read them. Without this "+
			"flag, the value of the last install; an empty value removes it.")
}

// nodeScope completes what the flags say with what the installation on this host was
// told: an upgrade by somebody who knows nothing of it lets nobody loose. Where nothing of
// ours is to be, nothing is remembered.
func (f *hostFlags) nodeScope(fs *pflag.FlagSet, profile controlplane.Profile, said scope.Options) (scope.Options,
	error) {
	record, err := controlplane.ReadRecord(f.layout)
	if err != nil || record == nil || profile == controlplane.InTree {
		return said, err
	}
	if !fs.Changed(nodeScopeFlag) {
		said.On = record.NodeScope.On
	}
	if !fs.Changed(customResourcesFlag) && said.On {
		said.CustomResources = record.NodeScope.CustomResources
	}
	return said, nil
}

// nodeScopeOf says in one line whom an installation holds.
func nodeScopeOf(l host.Layout, record *controlplane.Record) string {
	if !record.NodeScope.On {
		return "off"
	}
	asking, writing, err := scope.Accounts(l)
	switch {
	case err != nil:
		return "on, and the lists cannot be read: " + err.Error()
	case asking != writing:
		return fmt.Sprintf("on, %d accounts listed in what they ask for and %d in what they write: scope-sync is about to "+
			"make them alike, or cannot", asking, writing)
	case asking == 1:
		return "on, 1 account listed"
	}
	return fmt.Sprintf("on, %d accounts listed", asking)
}
