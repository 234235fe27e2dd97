// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// Options contains the values of the flags that every program has.
type Options struct {
	Kubeconfig string

	BindAddress                     string
	SecurePort, HealthPort          int
	CertFile, KeyFile, ClientCAFile string
	AllowedClientNames              []string
	ShutdownTimeout                 time.Duration

	Limits  webhook.Limits
	Logging *logsapi.LoggingConfiguration
}

// DefaultOptions returns the options of a static pod that the installer placed. It sets no ports
// and no limits. Each program has its own.
func DefaultOptions(component string) Options {
	dir := "/etc/kubernetes/bulkhead/" + component + "/"
	return Options{
		Kubeconfig:         dir + "kubeconfig",
		BindAddress:        "127.0.0.1",
		CertFile:           dir + "serving.crt",
		KeyFile:            dir + "serving.key",
		ClientCAFile:       dir + "client-ca.crt",
		AllowedClientNames: []string{"bulkhead:kube-apiserver"},
		ShutdownTimeout:    10 * time.Second,
		Logging:            logsapi.NewLoggingConfiguration(),
	}
}

// AddKubeconfig adds --kubeconfig. needs is a sentence about the permissions that the identity in
// the kubeconfig needs.
func (o *Options) AddKubeconfig(fs *pflag.FlagSet, needs string) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Kubeconfig for the API server. "+needs)
}

// AddTo adds the sections for serving, limits and logging. path is the URL path of the webhook.
func (o *Options) AddTo(sections *cliflag.NamedFlagSets, path string) {
	o.addServing(sections.FlagSet("serving"), path)

	limits := sections.FlagSet("limits")
	limits.IntVar(&o.Limits.InFlight, "max-requests-in-flight", o.Limits.InFlight,
		"Maximum number of requests that are decided at the same time. A further request waits for up to a second and is "+
			"then denied. Set it above the limit of kube-apiserver.")
	limits.IntVar(&o.Limits.InFlightPerNode, "max-requests-in-flight-per-node", o.Limits.InFlightPerNode,
		"Maximum number of requests of one node that are decided at the same time. A further request waits for up to a "+
			"second and is then denied.")

	AddLogging(o.Logging, sections.FlagSet("logging"))
}

func (o *Options) addServing(fs *pflag.FlagSet, path string) {
	fs.StringVar(&o.BindAddress, "bind-address", o.BindAddress,
		"IP address to listen on. It must be a loopback address, because the caller is on this host.")
	fs.IntVar(&o.SecurePort, "secure-port", o.SecurePort, "Port of the webhook, at path "+path+", with mutual TLS 1.3.")
	fs.IntVar(&o.HealthPort, "health-port", o.HealthPort,
		"Port of /livez, /readyz and /metrics. It uses plain HTTP, because the kubelet's probes have no client "+
			"certificate.")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile, "File with the serving certificate, PEM.")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile,
		"File with the private key of the serving certificate, PEM. If the two do not match, the last valid pair stays in "+
			"use.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"File with the CA that signs client certificates, PEM. Other clients are rejected in the TLS handshake.")
	fs.StringSliceVar(&o.AllowedClientNames, "allowed-client-names", o.AllowedClientNames,
		"Common names of the clients that may connect. Other clients are rejected in the TLS handshake.")
	fs.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", o.ShutdownTimeout,
		"How long the program waits for requests in flight when it is stopped.")
}

// AddLogging adds the logging flags. It hides those that an operator does not need in --help.
func AddLogging(logging *logsapi.LoggingConfiguration, fs *pflag.FlagSet) {
	logsapi.AddFlags(logging, fs)
	for _, name := range []string{"log-text-split-stream", "log-text-info-buffer-size", "log-json-split-stream",
		"log-json-info-buffer-size"} {
		if flag := fs.Lookup(name); flag != nil {
			flag.Hidden = true
		}
	}
}

// Validate returns all errors, not only the first.
func (o *Options) Validate() []error {
	var problems []error
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.Kubeconfig == "", "--kubeconfig is empty")
	ip := net.ParseIP(o.BindAddress)
	report(ip == nil || !ip.IsLoopback(), "--bind-address is %q, want a loopback address", o.BindAddress)
	report(o.SecurePort < 1 || o.SecurePort > 65535, "--secure-port is %d, want 1 to 65535", o.SecurePort)
	report(o.HealthPort < 1 || o.HealthPort > 65535, "--health-port is %d, want 1 to 65535", o.HealthPort)
	report(o.SecurePort == o.HealthPort, "--secure-port and --health-port are both %d", o.SecurePort)
	report(o.CertFile == "", "--tls-cert-file is empty")
	report(o.KeyFile == "", "--tls-private-key-file is empty")
	report(o.ClientCAFile == "", "--client-ca-file is empty")
	report(len(o.AllowedClientNames) == 0 ||
		slices.Contains(o.AllowedClientNames, ""), "--allowed-client-names is %q, want names", o.AllowedClientNames)
	report(o.ShutdownTimeout <= 0, "--shutdown-timeout is %v, want more than 0", o.ShutdownTimeout)
	report(o.Limits.InFlightPerNode < 1, "--max-requests-in-flight-per-node is %d, want at least 1",
		o.Limits.InFlightPerNode)
	report(o.Limits.InFlight < o.Limits.InFlightPerNode,
		"--max-requests-in-flight is %d, less than one node's share of %d", o.Limits.InFlight, o.Limits.InFlightPerNode)
	err := logsapi.Validate(o.Logging, nil, nil).ToAggregate()
	report(err != nil, "logging: %w", err)
	return problems
}

// Server returns the configuration of the server, as far as the flags determine it.
func (o *Options) Server() serve.Config {
	return serve.Config{
		BindAddress: o.BindAddress, SecurePort: o.SecurePort, HealthPort: o.HealthPort,
		CertFile: o.CertFile, KeyFile: o.KeyFile, ClientCAFile: o.ClientCAFile,
		AllowedClientNames: o.AllowedClientNames, ShutdownTimeout: o.ShutdownTimeout,
	}
}
