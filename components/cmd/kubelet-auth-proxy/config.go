// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// config is the configuration of the program, from valid flags.
type config struct {
	options
	policy *kubeletauth.Policy
	// answerTimeout bounds the time until the kubelet begins to answer.
	answerTimeout time.Duration

	version uint16
	suites  []uint16
}

// config converts valid flags to a configuration.
func (o *options) config() (*config, error) {
	c := &config{options: *o}
	c.limits.StreamRecheck = o.recheckInterval()
	// A checkpoint of a large container takes minutes.
	c.answerTimeout = 10 * time.Minute
	if c.auditOnly {
		c.raiseLimits()
	}
	problems := o.validate()
	policy, wrong := o.policy()
	c.policy, problems = policy, append(problems, wrong...)
	problems = append(problems, o.validateAuditOnly()...)
	if policy != nil && o.audit == "" && policy.ModeOf(kubeletauth.RuleAuditLog) != rules.Off {
		problems = append(problems, errors.New("rule KA-AUDIT-1 needs --audit-log-path; "+
			"to have no audit log, set --rule-mode=KA-AUDIT-1=off as well"))
	}
	var err error
	if c.version, err = cliflag.TLSVersion(o.minVersion); err != nil {
		problems = append(problems, fmt.Errorf("--tls-min-version: %w", err))
	}
	if c.suites, err = cliflag.TLSCipherSuites(o.cipherSuites); err != nil {
		problems = append(problems, fmt.Errorf("--tls-cipher-suites: %w", err))
	}
	return c, errors.Join(problems...)
}

// raiseLimits raises limits that have no finding, so that requests pass which the kubelet would answer.
// The kubelet ends an answer after four hours (pkg/kubelet/server/server.go). The limits that stay
// bound the memory.
func (c *config) raiseLimits() {
	const connections, waiting, headers, answer = 1 << 13, 1 << 16, 256 << 10, 4 * time.Hour
	c.maxHeaderBytes = max(c.maxHeaderBytes, headers)
	c.requestTimeout, c.answerTimeout = max(c.requestTimeout, answer), answer
	c.connections.All = max(c.connections.All, connections)
	c.connections.PerUser = c.connections.All
	c.who.MaxWaiting = max(c.who.MaxWaiting, waiting)
	c.may.MaxWaiting = max(c.may.MaxWaiting, waiting)
}

// validateAuditOnly reports the rights and rules that would still be enforced with --audit-only.
func (o *options) validateAuditOnly() (problems []error) {
	if !o.auditOnly {
		return nil
	}
	if o.mode != kubeletauth.Compat.String() {
		problems = append(problems, fmt.Errorf("--audit-only needs --mode=compat, and --mode is %q", o.mode))
	}
	for _, id := range slices.Sorted(maps.Keys(o.ruleModes)) {
		if o.ruleModes[id] == rules.Enforce.String() {
			problems = append(problems, fmt.Errorf("--audit-only does not allow --rule-mode=%s=%s", id, rules.Enforce))
		}
	}
	return problems
}

// recheckInterval is the smallest of --stream-recheck-interval and the cache times of answers. So a
// stream loses access no later than new requests do.
func (o *options) recheckInterval() time.Duration {
	interval := o.limits.StreamRecheck
	for _, ttl := range []time.Duration{o.may.AuthorizedTTL, o.who.TokenTTL} {
		if ttl > 0 { // 0 means that no answer is cached
			interval = min(interval, ttl)
		}
	}
	return interval
}

// policy returns the policy from the mode and the modes of single rules.
func (o *options) policy() (*kubeletauth.Policy, []error) {
	mode, err := kubeletauth.ParseMode(o.mode)
	if err != nil {
		return nil, []error{fmt.Errorf("--mode: %w", err)}
	}
	all := rules.Enforce
	if mode == kubeletauth.Compat {
		all = rules.Off
	}
	modes, problems := rules.ParseModes(kubeletauth.Rules, all, o.ruleModes)
	// Every token of a pod is for the API server, unless its owner requests another audience. So
	// this rule is in audit mode by default.
	if _, given := o.ruleModes[string(kubeletauth.RuleAudience)]; !given && all != rules.Off {
		modes[kubeletauth.RuleAudience] = rules.Audit
	}
	for i, problem := range problems {
		problems[i] = fmt.Errorf("--rule-mode: %w", problem)
	}
	return kubeletauth.NewPolicy(mode, modes), problems
}

// validate returns all errors in the program's own flags and in those of its packages.
func (o *options) validate() []error {
	problems := append(o.who.Validate(), o.may.Validate()...)
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.nodeName == "", "--node-name is empty")
	o.validateAddresses(report)
	report(o.port < 1 || o.port > 65535, "--secure-port is %d, want 1 to 65535", o.port)
	report(o.healthPort < 1 || o.healthPort > 65535, "--health-port is %d, want 1 to 65535", o.healthPort)
	for flag, value := range map[string]string{
		"--tls-cert-file": o.certFile, "--tls-private-key-file": o.keyFile,
		"--kubelet-client-certificate": o.kubeletCert, "--kubelet-client-key": o.kubeletKey,
	} {
		report(value == "", "%s is empty", flag)
	}
	report(o.maxHeaderBytes < 4<<10 ||
		o.maxHeaderBytes > 1<<20, "--max-header-bytes is %d, want 4096 to 1048576", o.maxHeaderBytes)
	report(o.headerTimeout <= 0, "--header-timeout is %v, want more than 0", o.headerTimeout)
	report(o.requestTimeout <= 0, "--request-timeout is %v, want more than 0", o.requestTimeout)
	report(o.drainTimeout < 0, "--drain-timeout is %v, want 0 or more", o.drainTimeout)
	report(o.shutdownTimeout <= 0, "--shutdown-timeout is %v, want more than 0", o.shutdownTimeout)
	err := errors.Join(o.limits.Validate(), o.connections.Validate())
	report(err != nil, "%w", err)
	err = logsapi.Validate(o.logging, nil, nil).ToAggregate()
	report(err != nil, "logging: %w", err)
	return problems
}

func (o *options) validateAddresses(report func(bool, string, ...any)) {
	report(len(o.addresses) == 0, "--bind-addresses is empty")
	report(slices.ContainsFunc(o.addresses, func(address string) bool {
		ip := net.ParseIP(address)
		return ip == nil || ip.IsUnspecified()
	}), "--bind-addresses is %q, want addresses of this node", o.addresses)
	host, _, err := net.SplitHostPort(o.kubelet)
	ip := net.ParseIP(host)
	report(err != nil || ip == nil ||
		!ip.IsLoopback(), "--kubelet-address is %q, want a loopback address with a port", o.kubelet)
}
