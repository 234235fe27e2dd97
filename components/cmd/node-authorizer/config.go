// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
)

const (
	strict = "strict"
	compat = "compat"
)

// minViewAge leaves watches of a few seconds time to be renewed.
const minViewAge = 10 * time.Second

// config is what the program runs with.
type config struct {
	kubeconfig string
	mode       nodeauthorizer.Mode
	features   nodeauthorizer.Features
	limits     sarwebhook.Limits
	maxViewAge time.Duration
	logging    *logsapi.LoggingConfiguration
	// server lacks what run makes: handler, checks and registry.
	server serve.Config
}

// config turns valid flags into a configuration.
func (o *options) config() (*config, error) {
	if problems := o.validate(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	features, err := o.parseFeatures()
	if err != nil {
		return nil, err
	}
	mode := nodeauthorizer.Strict
	if o.mode == compat {
		mode = nodeauthorizer.Compat
	}
	return &config{
		kubeconfig: o.kubeconfig,
		mode:       mode,
		features:   features,
		limits:     o.limits,
		maxViewAge: o.maxViewAge,
		logging:    o.logging,
		server: serve.Config{
			BindAddress: o.bindAddress, SecurePort: o.securePort, HealthPort: o.healthPort,
			CertFile: o.certFile, KeyFile: o.keyFile, ClientCAFile: o.caFile,
			AllowedClientNames: o.clientNames, ShutdownTimeout: o.shutdownTimeout,
		},
	}, nil
}

// validate reports every problem, not only the first.
func (o *options) validate() []error {
	problems := o.validateServing()
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.kubeconfig == "", "--kubeconfig is empty")
	report(o.mode != strict && o.mode != compat, "--mode is %q, want %s or %s", o.mode, strict, compat)
	_, err := o.parseFeatures()
	report(err != nil, "--feature-gates: %w", err)
	report(o.limits.InFlightPerNode < 1, "--max-requests-in-flight-per-node is %d, want at least 1", o.limits.InFlightPerNode)
	report(o.limits.InFlight < o.limits.InFlightPerNode, "--max-requests-in-flight is %d, less than one node's share of %d", o.limits.InFlight, o.limits.InFlightPerNode)
	report(o.maxViewAge < minViewAge, "--max-view-age is %v, want at least %v", o.maxViewAge, minViewAge)
	if err := logsapi.Validate(o.logging, nil, nil).ToAggregate(); err != nil {
		problems = append(problems, fmt.Errorf("logging: %w", err))
	}
	return problems
}

func (o *options) validateServing() []error {
	var problems []error
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	ip := net.ParseIP(o.bindAddress)
	report(ip == nil || !ip.IsLoopback(), "--bind-address is %q, want an address of loopback", o.bindAddress)
	report(o.securePort < 1 || o.securePort > 65535, "--secure-port is %d, want 1 to 65535", o.securePort)
	report(o.healthPort < 1 || o.healthPort > 65535, "--health-port is %d, want 1 to 65535", o.healthPort)
	report(o.securePort == o.healthPort, "--secure-port and --health-port are both %d", o.securePort)
	report(o.certFile == "", "--tls-cert-file is empty")
	report(o.keyFile == "", "--tls-private-key-file is empty")
	report(o.caFile == "", "--client-ca-file is empty")
	report(len(o.clientNames) == 0 || slices.Contains(o.clientNames, ""), "--allowed-client-names is %q, want names", o.clientNames)
	report(o.shutdownTimeout <= 0, "--shutdown-timeout is %v, want more than 0", o.shutdownTimeout)
	return problems
}

// parseFeatures refuses a gate that it does not know: one that is misspelt would
// decide nothing, silently.
func (o *options) parseFeatures() (nodeauthorizer.Features, error) {
	features := nodeauthorizer.DefaultFeatures()
	known := features.ByGate()
	for name, on := range o.features {
		gate, ok := known[name]
		if !ok {
			return features, fmt.Errorf("unknown gate %q, want %v", name, gates())
		}
		*gate = on
	}
	return features, nil
}
