// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
)

const (
	strict = "strict"
	compat = "compat"
)

// minViewAge gives watches of a few seconds enough time for their renewal.
const minViewAge = 10 * time.Second

// config is the program's configuration.
type config struct {
	kubeconfig string
	mode       nodeauthorizer.Mode
	features   nodeauthorizer.Features
	limits     webhook.Limits
	maxViewAge time.Duration
	extensions extensions
	// scope is nil if node scope is off.
	scope   *scope
	logging *logsapi.LoggingConfiguration
	// server is the configuration of the webhook server, from the flags.
	server serve.Config
	// readVersion is true if decisions depend on the version of kube-apiserver.
	readVersion bool
}

// config returns the configuration, or the joined errors of invalid flags.
func (o *options) config() (*config, error) {
	if problems := o.validate(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	features, err := o.features()
	if err != nil {
		return nil, err
	}
	mode := nodeauthorizer.Strict
	if o.mode == compat {
		mode = nodeauthorizer.Compat
	}
	return &config{
		kubeconfig:  o.Kubeconfig,
		mode:        mode,
		features:    features,
		limits:      o.Limits,
		maxViewAge:  o.maxViewAge,
		extensions:  o.extensions.config(),
		scope:       o.scope.config(),
		logging:     o.Logging,
		server:      o.Server(),
		readVersion: mode == nodeauthorizer.Strict && o.unknown == auditOnNewer,
	}, nil
}

// validate returns every problem, not only the first.
func (o *options) validate() []error {
	problems := o.Validate()
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.mode != strict && o.mode != compat, "--mode is %q, want %s or %s", o.mode, strict, compat)
	report(o.unknown != denyUnknown && o.unknown != auditOnNewer, "--unknown-resources is %q, want %s or %s", o.unknown,
		denyUnknown, auditOnNewer)
	_, err := o.features()
	report(err != nil, "%w", err)
	report(o.maxViewAge < minViewAge, "--max-view-age is %v, want at least %v", o.maxViewAge, minViewAge)
	problems = append(problems, o.extensions.validate()...)
	return append(problems, o.scope.validate()...)
}

func (o *options) features() (nodeauthorizer.Features, error) {
	features := nodeauthorizer.DefaultFeatures()
	return features, o.gates.Set(features.ByGate())
}
