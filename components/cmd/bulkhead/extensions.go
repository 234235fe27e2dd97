// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/node"
)

const (
	proxyFlagsFlag   = "kubelet-auth-proxy-flags"
	nodeSelectorFlag = "kubelet-node-selector"
	loopbackFlag     = "kubelet-loopback-clients"
	modeFlag         = "mode"
	auditForFlag     = "audit-for"
	kubeletAPIFlag   = "kubelet-api"
	extendTokensFlag = "extend-token-expiration" //nolint:gosec // the name of a flag

	failurePolicyFlag    = "node-restriction-failure-policy"
	unknownResourcesFlag = "unknown-resources"

	auditMode, enforceMode    = "audit", "enforce"
	failPolicy, ignorePolicy  = "Fail", "Ignore"
	denyUnknown, auditOnNewer = "deny", "audit-on-newer-kubernetes"
)

// defaultGrace is the default of --terminated-pod-grace.
const defaultGrace = 30 * time.Second

// extensionFlags are the flags for the rules that upstream does not have.
type extensionFlags struct {
	install             string
	auditFor            time.Duration
	extendTokens        bool
	failurePolicy       string
	unknownResources    string
	mode                string
	ruleModes           ruleModes
	grace               time.Duration
	credentialProviders bool
	proxyFlags          map[string]string
	nodeSelector        string
	loopbackClients     string
}

func (f *extensionFlags) add(fs *pflag.FlagSet) {
	const asBefore = " Without this flag, the value of the last install"
	f.proxyFlags = map[string]string{}
	fs.StringVar(&f.install, modeFlag, enforceMode,
		"audit or enforce. With audit, Bulkhead reports by log, metric and audit event what it would deny; bulkhead audit "+
			"shows a summary. It still denies revoked credentials and malformed requests, and kubelet-auth-proxy answers "+
			"429 over its limits. Only hardened has this mode."+asBefore+".")
	fs.DurationVar(&f.auditFor, auditForFlag, controlplane.DefaultAuditFor,
		"How long --mode=audit, and rules in mode audit, should last. The mode does not change automatically: bulkhead "+
			"doctor reports an audit that lasts longer."+asBefore+".")
	fs.BoolVar(&f.extendTokens, extendTokensFlag, false,
		"Let kube-apiserver continue to extend ServiceAccount tokens to one year, for clients that do not reload their "+
			"token."+asBefore+".")
	fs.StringVar(&f.failurePolicy, failurePolicyFlag, failPolicy,
		"Fail or Ignore: what kube-apiserver does with a write of a node if node-restriction is unavailable or does not "+
			"answer in time. Fail denies it. With Ignore, only in-tree NodeRestriction checks it, and the rules that "+
			"Kubernetes does not have are not enforced; a compromised node can cause that if it overloads node-restriction. "+
			"Only hardened has Ignore."+asBefore+".")
	fs.StringVar(&f.unknownResources, unknownResourcesFlag, auditOnNewer,
		"deny or audit-on-newer-kubernetes: the decision for a node's request for a resource that no rule names "+
			"(NA-DEFAULT). With audit-on-newer-kubernetes, such a request is only reported while kube-apiserver has a newer "+
			"minor version than node-authorizer supports, and RBAC decides; otherwise it is denied."+asBefore+".")
	fs.StringVar(&f.mode, "beyond-upstream", "",
		"Mode of the rules that Kubernetes does not have: off, audit or enforce. In audit, log and metrics report what "+
			"would be denied."+asBefore+
			"; by default enforce in hardened and off in parity. An empty value restores the default.")
	fs.Var(&f.ruleModes, ruleModeFlag,
		"Modes of single rules: ID=off|audit|enforce|default. Example: NA-CSR-1=audit,KA-EXEC-1=off. bulkhead rules lists "+
			"the rules. Rules that the flag does not name keep the mode of the last install, or of the file of --config. "+
			"default removes the mode of a rule; an empty value removes all. Modes of KA- rules apply to all nodes: "+
			"the last install that names one, on any control-plane host, sets them and all other settings of "+
			"kubelet-auth-proxy to those of that host. Only KA-VAP-1 has a mode for each API server.")
	fs.DurationVar(&f.grace, "terminated-pod-grace", defaultGrace,
		"How long a node may read secrets and config maps, and get tokens, of a pod that has ended."+asBefore+".")
	fs.BoolVar(&f.credentialProviders, "credential-provider-tokens", false,
		"Set this if kubelets have credential providers that use ServiceAccount tokens."+asBefore+".")
	fs.Var(cliflag.NewMapStringString(&f.proxyFlags), proxyFlagsFlag,
		"Flags of kubelet-auth-proxy on all nodes, name=value. Example: authentication-token-webhook-cache-ttl=1m. They "+
			"set whether it accepts tokens, how long it caches answers, and how long a stream may be idle."+asBefore+
			" on any control-plane host; an empty value restores the defaults.")
	fs.StringVar(&f.nodeSelector, nodeSelectorFlag, "",
		"Label selector of the Linux nodes that get kubelet-auth-proxy, in the format of kubectl -l. For example, "+
			"pool!=edge excludes a pool. An excluded kubelet still needs a serving certificate of the cluster before "+
			"kube-apiserver verifies the certificates of kubelets."+asBefore+" on any control-plane host; an empty value "+
			"selects all.")
	fs.StringVar(&f.loopbackClients, loopbackFlag, "",
		"deny or allow clients on the nodes, other than kubelet-auth-proxy, that use the kubelet's API on 127.0.0.1. With "+
			"allow, only the kubelet's own authentication and authorization limit them. bulkhead node install applies it to "+
			"a node."+asBefore+" on any control-plane host; an empty value, the default, is allow with --mode=audit and "+
			"deny otherwise.")
}

// validate checks the flags that have one of two values, and the rules that go back to their default.
func (f *extensionFlags) validate(record *controlplane.Record) error {
	var errs []error
	if f.auditFor <= 0 {
		errs = append(errs, fmt.Errorf("--%s is %v, want more than 0", auditForFlag, f.auditFor))
	}
	for _, flag := range []struct{ name, value, one, other string }{
		{modeFlag, f.install, auditMode, enforceMode},
		{failurePolicyFlag, f.failurePolicy, failPolicy, ignorePolicy},
		{unknownResourcesFlag, f.unknownResources, denyUnknown, auditOnNewer},
	} {
		if flag.value != flag.one && flag.value != flag.other {
			errs = append(errs, fmt.Errorf("--%s is %q, want %s or %s", flag.name, flag.value, flag.one, flag.other))
		}
	}
	if clients := node.LoopbackClients(f.loopbackClients); clients != "" {
		if err := clients.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", loopbackFlag, err))
		}
	}
	return errors.Join(append(errs, f.ruleModes.validate(record.Extensions.RuleModes))...)
}

// extensions returns the settings from valid flags. For a flag that is not set, it returns the
// recorded value.
func extensions(fs *pflag.FlagSet, given *extensionFlags, record *controlplane.Record) controlplane.Extensions {
	b := record.Extensions
	if fs.Changed(modeFlag) {
		b.AuditOnly = given.install == auditMode
	}
	if fs.Changed(auditForFlag) {
		// The default is recorded as 0, so that hosts with and without the flag have the same settings.
		if b.AuditFor = given.auditFor; b.AuditFor == controlplane.DefaultAuditFor {
			b.AuditFor = 0
		}
	}
	if fs.Changed(extendTokensFlag) {
		b.ExtendTokens = given.extendTokens
	}
	if fs.Changed(failurePolicyFlag) {
		b.IgnoreFailures = given.failurePolicy == ignorePolicy
	}
	if fs.Changed(unknownResourcesFlag) {
		b.DenyUnknown = given.unknownResources == denyUnknown
	}
	if fs.Changed("beyond-upstream") {
		b.Mode = given.mode
	}
	if fs.Changed(ruleModeFlag) {
		b.RuleModes = given.ruleModes.apply(b.RuleModes)
	}
	if fs.Changed("terminated-pod-grace") {
		b.TerminatedPodGrace = &given.grace
	}
	if fs.Changed("credential-provider-tokens") {
		b.CredentialProviderTokens = &given.credentialProviders
	}
	if fs.Changed(proxyFlagsFlag) {
		b.ProxyFlags = orNil(given.proxyFlags)
	}
	if fs.Changed(nodeSelectorFlag) {
		b.NodeSelector = given.nodeSelector
	}
	if fs.Changed(loopbackFlag) {
		b.LoopbackClients = node.LoopbackClients(given.loopbackClients)
	}
	return b
}

// orNil returns nil for an empty map: an empty value of a flag restores the default.
func orNil(values map[string]string) map[string]string {
	if len(values) == 0 {
		return nil
	}
	return values
}
