// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// defaultGrace gives containers time to stop after the pod's phase has changed.
const defaultGrace = 30 * time.Second

// extensionOptions are the flags of the rules that upstream does not have.
type extensionOptions struct {
	program.Extensions

	grace               time.Duration
	credentialProviders bool
}

// extensions is the configuration from extensionOptions.
type extensions struct {
	modes               map[rules.ID]rules.Mode
	grace               time.Duration
	credentialProviders bool
	// notEnforced is nil unless the program only audits.
	notEnforced func(rules.ID) bool
}

func defaultExtensionOptions() extensionOptions {
	return extensionOptions{Extensions: program.DefaultExtensions(), grace: defaultGrace}
}

func (o *extensionOptions) add(fs *pflag.FlagSet) {
	o.Add(fs,
		"Decision for a request that the in-tree Node authorizer would allow and a stricter, optional rule would not: "+
			"enforce denies it, audit allows it and reports it by log and metric, off does not check the rule.",
		"NA-CSR-1=audit,NA-SA-3=off")
	fs.DurationVar(&o.grace, "terminated-pod-grace", o.grace,
		"How long a node may still read secrets and config maps, and get tokens, of a pod that has ended (NA-POD-6). With "+
			"0, containers that are still stopping may not get them.")
	fs.BoolVar(&o.credentialProviders, "credential-provider-tokens", o.credentialProviders,
		"Set this if kubelets have credential providers that use ServiceAccount tokens. Then a node may also get the "+
			"account and tokens of a pod that mounts no token (NA-SA-3).")
}

// validate returns every problem.
func (o *extensionOptions) validate() []error {
	_, problems := o.Modes(nodeauthorizer.Rules)
	if o.grace < 0 {
		problems = append(problems,
			fmt.Errorf("--terminated-pod-grace is %v, want 0 or more; for no limit, use --rule-mode=NA-POD-6=off", o.grace))
	}
	return problems
}

// config must be called only on valid options.
func (o *extensionOptions) config() extensions {
	modes, _ := o.Modes(nodeauthorizer.Rules)
	return extensions{modes: modes, grace: o.grace, credentialProviders: o.credentialProviders,
		notEnforced: o.NotEnforced()}
}
