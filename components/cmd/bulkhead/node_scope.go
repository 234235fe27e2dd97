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

// addNodeScopeFlags adds the flags for node scope.
func addNodeScopeFlags(fs *pflag.FlagSet, s *scope.Options) {
	fs.BoolVar(&s.On, nodeScopeFlag, s.On,
		"Limit the tokens of a pod to its node, if its ServiceAccount has an annotation for that (docs/node-scope.md). "+
			"kube-apiserver must load webhooks from disk, as it does since 1.37. Without this flag, "+
			"the value of the last install. --node-scope=false removes it, and prints how many accounts were limited.")
	fs.StringVar(&s.CustomResources, customResourcesFlag, s.CustomResources,
		"With --node-scope: custom resources that have the name of their node in a field, as "+
			"widgets.example.com=field:spec.node, or in a label, as gadgets.example.com=label:example.com/node. "+
			"node-authorizer gets the right to read them. Without this flag, the value of the last install; an empty value "+
			"removes it.")
}

// nodeScope returns the settings from the flags. For a flag that is not set, it returns the
// recorded value. So an upgrade without the flags keeps every scope. The profile in-tree does not
// use the record.
func nodeScope(fs *pflag.FlagSet, profile controlplane.Profile, given scope.Options, record *controlplane.Record,
) scope.Options {
	if profile == controlplane.InTree {
		return given
	}
	if !fs.Changed(nodeScopeFlag) {
		given.On = record.NodeScope.On
	}
	if !fs.Changed(customResourcesFlag) && given.On {
		given.CustomResources = record.NodeScope.CustomResources
	}
	return given
}

// nodeScopeOf describes in one line how many accounts an installation scopes.
func nodeScopeOf(l host.Layout, record *controlplane.Record) string {
	if !record.NodeScope.On {
		return "off"
	}
	asking, writing, err := scope.Accounts(l)
	switch {
	case err != nil:
		return "on, and the lists cannot be read: " + err.Error()
	case asking != writing:
		return fmt.Sprintf("on, %d accounts listed for authorization and %d for admission: scope-sync will update the "+
			"lists soon, or cannot", asking, writing)
	case asking == 1:
		return "on, 1 account listed"
	}
	return fmt.Sprintf("on, %d accounts listed", asking)
}
