// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bulkhead-k8s/bulkhead/components/install"
)

// beyondFlags are about the rules that upstream does not have.
type beyondFlags struct {
	mode                string
	ruleModes           map[string]string
	grace               time.Duration
	credentialProviders bool
}

func (f *beyondFlags) add(fs *pflag.FlagSet) {
	const asBefore = " Without this flag, what the last install was told"
	f.ruleModes = map[string]string{}
	fs.StringVar(&f.mode, "beyond-upstream", "",
		"off, audit or enforce the rules that Kubernetes itself does not have; audit allows, and reports by log and metric "+
			"what would be refused."+asBefore+
			"; if nothing, enforce in hardened and off in parity. An empty value forgets what it was told.")
	fs.Var(cliflag.NewMapStringString(&f.ruleModes), "rule-mode",
		"ID=off|audit|enforce pairs for single ones of them, as in NA-CSR-1=audit,KA-EXEC-1=off; bulkhead rules lists "+
			"them. Those of the kubelets' API (KA-) hold on all nodes, whichever control-plane host was told last, but for "+
			"KA-VAP-1, which is each API server's."+asBefore+"; an empty value forgets it.")
	fs.DurationVar(&f.grace, "terminated-pod-grace", 30*time.Second,
		"How long a pod that has ended still gives its node secrets, config maps and tokens."+asBefore+".")
	fs.BoolVar(&f.credentialProviders, "credential-provider-tokens", false,
		"Whether kubelets have credential providers that use ServiceAccount tokens."+asBefore+".")
}

// beyond is what the flags say; what they do not name, the installation on this
// host was told.
func (f *hostFlags) beyond(fs *pflag.FlagSet, given *beyondFlags) (install.Beyond, error) {
	record, err := install.ReadRecord(f.layout)
	if err != nil {
		return install.Beyond{}, err
	}
	var b install.Beyond
	if record != nil {
		b = record.Beyond
	}
	if fs.Changed("beyond-upstream") {
		b.Mode = given.mode
	}
	if fs.Changed("rule-mode") {
		b.RuleModes = nil
		if len(given.ruleModes) > 0 {
			b.RuleModes = given.ruleModes
		}
	}
	if fs.Changed("terminated-pod-grace") {
		b.TerminatedPodGrace = &given.grace
	}
	if fs.Changed("credential-provider-tokens") {
		b.CredentialProviderTokens = &given.credentialProviders
	}
	return b, nil
}
