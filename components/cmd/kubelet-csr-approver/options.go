// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

// options contains the values of the flags.
type options struct {
	kubeconfig string
	logging    *logsapi.LoggingConfiguration
}

// config is the validated configuration.
type config struct{ options }

// defaultOptions returns the options of the static pod that the installer creates. The directory
// has the name of the program's identity, bulkhead:kubelet-approver.
func defaultOptions() *options {
	return &options{
		kubeconfig: "/etc/kubernetes/bulkhead/kubelet-approver/kubeconfig",
		logging:    logsapi.NewLoggingConfiguration(),
	}
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	sections.FlagSet("cluster").StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Kubeconfig for the API server. Its identity needs the permissions in manifests/kubelet-approver.")
	program.AddLogging(o.logging, sections.FlagSet("logging"))
	return sections
}

// config validates the flags and returns a configuration.
func (o *options) config() (*config, error) {
	var problems []error
	if o.kubeconfig == "" {
		problems = append(problems, errors.New("--kubeconfig is empty"))
	}
	if err := logsapi.Validate(o.logging, nil, nil).ToAggregate(); err != nil {
		problems = append(problems, fmt.Errorf("logging: %w", err))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &config{*o}, nil
}
