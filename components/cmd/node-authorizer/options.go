// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
)

// webhookPath is the path to which kube-apiserver sends its SubjectAccessReviews.
const webhookPath = "/authorize"

// options are the flags as the user has set them.
type options struct {
	program.Options

	mode       string
	unknown    string
	gates      program.Gates
	maxViewAge time.Duration
	extensions extensionOptions
	scope      scopeOptions
}

// defaultOptions are the flags of a static pod that the installer creates.
func defaultOptions() *options {
	common := program.DefaultOptions("node-authorizer")
	common.SecurePort, common.HealthPort = 10461, 10462
	common.Limits = webhook.Limits{InFlight: 2000, InFlightPerNode: 200}
	return &options{
		Options:    common,
		mode:       strict,
		unknown:    auditOnNewer,
		gates:      program.Gates{},
		maxViewAge: graphsync.DefaultMaxAge,
		extensions: defaultExtensionOptions(),
	}
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets

	deciding := sections.FlagSet("deciding")
	deciding.StringVar(&o.mode, "mode", o.mode,
		"Decision for a node request that no rule allows: strict denies it, so that no other authorizer can allow "+
			"it; compat leaves it to the next authorizers, as the in-tree Node authorizer does.")
	deciding.StringVar(&o.unknown, "unknown-resources", o.unknown,
		"With --mode=strict, decision for a node request for a resource that no rule names: "+denyUnknown+" denies it; "+
			auditOnNewer+" also denies it, except if kube-apiserver has a newer minor version than this program supports. "+
			"Then it reports the request by log and metric, and the next authorizers decide.")
	features := nodeauthorizer.DefaultFeatures()
	o.gates.Add(deciding, features.ByGate(), "what a node may do")
	o.AddKubeconfig(deciding,
		"Its identity needs only get, list and watch on the resources that the rules depend on.")
	deciding.DurationVar(&o.maxViewAge, "max-view-age", o.maxViewAge,
		"Maximum time without data from the API server about a resource. After that, requests of nodes are left to the "+
			"next authorizers. A healthy API server sends data every minute.")

	o.extensions.add(sections.FlagSet("beyond upstream"))
	o.scope.add(sections.FlagSet("node scope"))
	o.AddTo(&sections, webhookPath)
	return sections
}
