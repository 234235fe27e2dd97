// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

// options contains the values of the flags.
type options struct {
	kubeconfig, configuration string
	bindAddress               string
	healthPort                int
	shutdownTimeout           time.Duration
	logging                   *logsapi.LoggingConfiguration
}

// config is the validated configuration.
type config struct{ options }

// defaultOptions returns the options of the Deployment in manifests/machine-table.
func defaultOptions() *options {
	return &options{
		configuration:   "/etc/bulkhead/machine-table/configuration.yaml",
		bindAddress:     "127.0.0.1",
		healthPort:      10468,
		shutdownTimeout: 5 * time.Second,
		logging:         logsapi.NewLoggingConfiguration(),
	}
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	cluster := sections.FlagSet("cluster")
	cluster.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Kubeconfig for the API server. Without it, the program uses the service account of its pod. The identity needs "+
			"the permissions in manifests/machine-table.")
	cluster.StringVar(&o.configuration, "configuration", o.configuration,
		"File with the configuration of node-restriction. This program reads only its field machines.")
	serving := sections.FlagSet("serving")
	serving.StringVar(&o.bindAddress, "bind-address", o.bindAddress, "IP address to listen on. It must be a loopback "+
		"address.")
	serving.IntVar(&o.healthPort, "health-port", o.healthPort, "Port of /livez, /readyz and /metrics, with plain HTTP.")
	serving.DurationVar(&o.shutdownTimeout, "shutdown-timeout", o.shutdownTimeout,
		"How long the program waits for requests in flight when it is stopped.")
	program.AddLogging(o.logging, sections.FlagSet("logging"))
	return sections
}

// config validates the flags and returns a configuration. The error has all problems, not only the first.
func (o *options) config() (*config, error) {
	var problems []error
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.configuration == "", "--configuration is empty")
	ip := net.ParseIP(o.bindAddress)
	report(ip == nil || !ip.IsLoopback(), "--bind-address is %q, want a loopback address", o.bindAddress)
	report(o.healthPort < 1 || o.healthPort > 65535, "--health-port is %d, want 1 to 65535", o.healthPort)
	report(o.shutdownTimeout <= 0, "--shutdown-timeout is %v, want more than 0", o.shutdownTimeout)
	err := logsapi.Validate(o.logging, nil, nil).ToAggregate()
	report(err != nil, "logging: %w", err)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &config{*o}, nil
}

// server is the configuration of the server, as far as the flags determine it.
func (c *config) server() serve.Config {
	return serve.Config{BindAddress: c.bindAddress, HealthPort: c.healthPort, ShutdownTimeout: c.shutdownTimeout}
}
