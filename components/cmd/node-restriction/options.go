// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// webhookPath is the path to which kube-apiserver sends its admission reviews.
const webhookPath = "/review"

// options are the values of the flags.
type options struct {
	program.Options

	policyFile   string
	apiAudiences []string
	gates        program.Gates
	extensions   program.Extensions
	scope        scopeOptions
}

// config is the configuration that the flags result in.
type config struct {
	kubeconfig   string
	policyFile   string
	apiAudiences []string
	features     noderestriction.Features
	modes        map[rules.ID]rules.Mode
	// notEnforced is nil unless the program only audits.
	notEnforced func(rules.ID) bool
	limits      webhook.Limits
	// scope is nil if node scope is off.
	scope   *scope
	logging *logsapi.LoggingConfiguration
	// server is the part of the configuration for the HTTP servers.
	server serve.Config
}

// defaultOptions match the static pod that the installer writes. The default audience is the one of
// a kube-apiserver that kubeadm set up.
func defaultOptions() *options {
	common := program.DefaultOptions("node-restriction")
	common.SecurePort, common.HealthPort = 10463, 10464
	// A decision may wait for lookups of up to one second each. The limit per node bounds how many
	// requests one node can make a slow API server work on at the same time.
	common.Limits = webhook.Limits{InFlight: 2000, InFlightPerNode: 100}
	return &options{
		Options:      common,
		apiAudiences: []string{"https://kubernetes.default.svc.cluster.local"},
		gates:        program.Gates{},
		extensions:   program.DefaultExtensions(),
		scope:        defaultScopeOptions(),
	}
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets

	deciding := sections.FlagSet("deciding")
	deciding.StringVar(&o.policyFile, "config", o.policyFile,
		"File with the operator's policy, a Configuration of noderestriction.admission.k8s.io/v1. It is reloaded when it "+
			"changes. While a changed file is invalid, the last valid one stays in use. At the start, an invalid file is an "+
			"error. Without a file, the fixed policy of in-tree NodeRestriction applies.")
	deciding.StringSliceVar(&o.apiAudiences, "api-audiences", o.apiAudiences,
		"All values of kube-apiserver's --api-audiences in the same order or, if that flag is not set, of its "+
			"--service-account-issuer. kube-apiserver adds them to a token request without audiences before it sends the "+
			"review.")
	features := noderestriction.DefaultFeatures()
	o.gates.Add(deciding, features.ByGate(), "what a node may write")
	o.AddKubeconfig(deciding,
		"Its identity needs get on objects that writes refer to, list on objects that are counted, create on "+
			"subjectaccessreviews, and access to its ConfigMap with the history of nodes.")

	o.extensions.Add(sections.FlagSet("beyond upstream"),
		"Decision for a write that in-tree NodeRestriction would admit and a stricter, optional rule would not: enforce "+
			"denies it, audit admits it and reports it by log, metric and audit annotation, off does not check the rule.",
		"NR-EVENT-1=audit,NR-EVENT-2=off")
	o.scope.add(sections.FlagSet("node scope"))
	o.AddTo(&sections, webhookPath)
	return sections
}

// config returns the configuration for valid flags. For invalid flags it returns every problem as
// an error.
func (o *options) config() (*config, error) {
	if problems := o.validate(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	features, err := o.features()
	if err != nil {
		return nil, err
	}
	modes, _ := o.extensions.Modes(noderestriction.Rules)
	return &config{
		kubeconfig:   o.Kubeconfig,
		policyFile:   o.policyFile,
		apiAudiences: o.apiAudiences,
		features:     features,
		modes:        modes,
		notEnforced:  o.extensions.NotEnforced(),
		limits:       o.Limits,
		scope:        o.scope.config(),
		logging:      o.Logging,
		server:       o.Server(),
	}, nil
}

// validate returns every problem, not only the first.
func (o *options) validate() []error {
	problems := o.Validate()
	if len(o.apiAudiences) == 0 || slices.Contains(o.apiAudiences, "") {
		problems = append(problems, fmt.Errorf("--api-audiences is %q, want audiences", o.apiAudiences))
	}
	if _, err := o.features(); err != nil {
		problems = append(problems, err)
	}
	_, wrong := o.extensions.Modes(noderestriction.Rules)
	return append(append(problems, wrong...), o.scope.validate()...)
}

func (o *options) features() (noderestriction.Features, error) {
	features := noderestriction.DefaultFeatures()
	return features, o.gates.Set(features.ByGate())
}
