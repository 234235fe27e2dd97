// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
)

// options are the flags as given.
type options struct {
	kubeconfig string

	bindAddress               string
	securePort, healthPort    int
	certFile, keyFile, caFile string
	clientNames               []string
	shutdownTimeout           time.Duration

	mode       string
	features   map[string]bool
	maxViewAge time.Duration

	limits  sarwebhook.Limits
	logging *logsapi.LoggingConfiguration
}

// defaultOptions are those of a static pod that the installer placed.
func defaultOptions() *options {
	const dir = "/etc/kubernetes/bulkhead/node-authorizer/"
	logging := logsapi.NewLoggingConfiguration()
	return &options{
		kubeconfig:      dir + "kubeconfig",
		bindAddress:     "127.0.0.1",
		securePort:      10461,
		healthPort:      10462,
		certFile:        dir + "serving.crt",
		keyFile:         dir + "serving.key",
		caFile:          dir + "client-ca.crt",
		clientNames:     []string{"bulkhead:kube-apiserver"},
		shutdownTimeout: 10 * time.Second,
		mode:            strict,
		features:        map[string]bool{},
		maxViewAge:      graphsync.DefaultMaxAge,
		limits:          sarwebhook.Limits{InFlight: 2000, InFlightPerNode: 200},
		logging:         logging,
	}
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets

	deciding := sections.FlagSet("deciding")
	deciding.StringVar(&o.mode, "mode", o.mode,
		"What becomes of a node's request that no rule allows: strict denies it, so that no authorizer behind can allow it; compat leaves it to them, as the in-tree Node authorizer does.")
	deciding.Var(cliflag.NewMapStringBool(&o.features), "feature-gates",
		"Name=true|false pairs, as kube-apiserver has them. Those that change what a node may do: "+strings.Join(gates(), ", ")+".")
	deciding.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"How to reach the API server, and as whom. The identity needs list and watch on what the decisions are made from, and nothing else.")
	deciding.DurationVar(&o.maxViewAge, "max-view-age", o.maxViewAge,
		"How long the API server may say nothing about a resource before requests of nodes are left to the authorizers behind. A healthy one says something every minute.")

	serving := sections.FlagSet("serving")
	serving.StringVar(&o.bindAddress, "bind-address", o.bindAddress, "Where to listen. Only loopback is accepted: the caller is on this host.")
	serving.IntVar(&o.securePort, "secure-port", o.securePort, "Port of the webhook, at path /authorize, with mutual TLS 1.3.")
	serving.IntVar(&o.healthPort, "health-port", o.healthPort, "Port of /livez, /readyz and /metrics, plain HTTP: the kubelet's probes have no client certificate.")
	serving.StringVar(&o.certFile, "tls-cert-file", o.certFile, "Serving certificate.")
	serving.StringVar(&o.keyFile, "tls-private-key-file", o.keyFile, "Key of the serving certificate. A pair that does not match leaves the last good one in use.")
	serving.StringVar(&o.caFile, "client-ca-file", o.caFile, "CA that has to have signed a caller's certificate.")
	serving.StringSliceVar(&o.clientNames, "allowed-client-names", o.clientNames, "Common names of the callers that are served; others are refused in the handshake.")
	serving.DurationVar(&o.shutdownTimeout, "shutdown-timeout", o.shutdownTimeout, "How long to wait for requests in flight when stopped.")

	limits := sections.FlagSet("limits")
	limits.IntVar(&o.limits.InFlight, "max-requests-in-flight", o.limits.InFlight, "Requests decided at one time. More wait for a second and are denied then; keep it above kube-apiserver's own limit.")
	limits.IntVar(&o.limits.InFlightPerNode, "max-requests-in-flight-per-node", o.limits.InFlightPerNode, "Requests of one node decided at one time. More wait for a second and are denied then.")

	o.addLoggingFlags(&sections)
	return sections
}

// addLoggingFlags shows of the logging flags those that a person may need.
func (o *options) addLoggingFlags(sections *cliflag.NamedFlagSets) {
	logging := sections.FlagSet("logging")
	logsapi.AddFlags(o.logging, logging)
	for _, name := range []string{"log-text-split-stream", "log-text-info-buffer-size", "log-json-split-stream", "log-json-info-buffer-size"} {
		if flag := logging.Lookup(name); flag != nil {
			flag.Hidden = true
		}
	}
}

func gates() []string {
	features := nodeauthorizer.DefaultFeatures()
	var names []string
	for name := range features.ByGate() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
