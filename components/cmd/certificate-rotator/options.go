// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

// options contains the values of the flags.
type options struct {
	layout  host.Layout
	policy  pki.Policy
	logging *logsapi.LoggingConfiguration
}

// config is the validated configuration.
type config struct{ options }

// defaultOptions returns the options of the static pod that the installer creates.
func defaultOptions() *options {
	return &options{
		layout:  host.DefaultLayout(),
		policy:  host.DefaultPolicy(),
		logging: logsapi.NewLoggingConfiguration(),
	}
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets

	files := sections.FlagSet("files")
	files.StringVar(&o.layout.State, "state-dir", o.layout.State, "Directory of Bulkhead's certificates.")
	files.StringVar(&o.layout.KubePKI, "kubernetes-pki", o.layout.KubePKI,
		"kubeadm's directory with ca.crt and ca.key, which sign the client certificates of Bulkhead's components.")

	certificates := sections.FlagSet("certificates")
	certificates.DurationVar(&o.policy.Validity, "cert-validity", o.policy.Validity,
		"How long a new certificate is valid.")
	certificates.DurationVar(&o.policy.RenewBefore, "cert-renew-before", o.policy.RenewBefore,
		"Renew a certificate when it expires in less than this time.")

	program.AddLogging(o.logging, sections.FlagSet("logging"))
	return sections
}

// config validates the flags and returns a configuration.
func (o *options) config() (*config, error) {
	if problems := o.validate(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &config{*o}, nil
}

// validate returns all errors, not only the first.
func (o *options) validate() []error {
	var problems []error
	for _, f := range [][2]string{{"state-dir", o.layout.State}, {"kubernetes-pki", o.layout.KubePKI}} {
		if !filepath.IsAbs(f[1]) {
			problems = append(problems, fmt.Errorf("--%s is %q, want an absolute path", f[0], f[1]))
		}
	}
	if err := host.ValidatePolicy(o.policy); err != nil {
		problems = append(problems, err)
	}
	if err := logsapi.Validate(o.logging, nil, nil).ToAggregate(); err != nil {
		problems = append(problems, fmt.Errorf("logging: %w", err))
	}
	return problems
}
