// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
)

const defaultHeartbeat = "/run/scope-sync/heartbeat"

// options are the values of the flags.
type options struct {
	kubeconfig, nodeName                string
	authorization, admission            string
	heartbeat                           string
	authorizerHealth, restrictionHealth string
	logging                             *logsapi.LoggingConfiguration
}

// config is the validated configuration.
type config struct {
	options
	// authorizer and restriction report which annotations the two components have seen.
	authorizer, restriction *scopesync.SeenClient
}

// defaultOptions are the options of the static pod that the installer creates.
func defaultOptions() *options {
	const dir = "/etc/kubernetes/bulkhead/"
	return &options{
		kubeconfig:        dir + "scope-sync/kubeconfig",
		authorization:     dir + "apiserver/authorization.yaml",
		admission:         dir + "apiserver/static/node-scope.yaml",
		heartbeat:         defaultHeartbeat,
		authorizerHealth:  "http://127.0.0.1:10462",
		restrictionHealth: "http://127.0.0.1:10464",
		logging:           logsapi.NewLoggingConfiguration(),
	}
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets

	cluster := sections.FlagSet("cluster")
	cluster.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"How to reach the API server of this host, which is the one that reads the two files, and as whom. "+
			"The identity needs get, list and watch on serviceaccounts, list and watch on pods, get on /metrics, create and "+
			"patch on events, and get and patch on the ConfigMap kube-system/bulkhead-node-scope.")
	cluster.StringVar(&o.nodeName, "node-name", o.nodeName,
		"Name of this host's Node. The state of accounts is stored under this name.")

	files := sections.FlagSet("files")
	files.StringVar(&o.authorization, "authorization-config", o.authorization,
		"The API server's authorization configuration, with an entry node-scope.bulkhead.dev. Its directory has to be "+
			"writable: the file is replaced by renaming.")
	files.StringVar(&o.admission, "admission-manifest", o.admission,
		"The registration of the webhook node-scope.bulkhead.dev, in the directory from which the API server takes "+
			"webhooks. That has to be writable too.")
	files.StringVar(&o.heartbeat, "heartbeat-file", o.heartbeat, "Touched every two seconds, for scope-sync check.")

	components := sections.FlagSet("components")
	components.StringVar(&o.authorizerHealth, "node-authorizer-health", o.authorizerHealth,
		"The health port of node-authorizer on this host. It says which annotations node-authorizer has seen; "+
			"an account is live when it has seen those of the account.")
	components.StringVar(&o.restrictionHealth, "node-restriction-health", o.restrictionHealth,
		"The same of node-restriction.")

	program.AddLogging(o.logging, sections.FlagSet("logging"))
	return sections
}

// config validates the flags and returns a configuration.
func (o *options) config() (*config, error) {
	if problems := o.validate(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	authorizer, err1 := scopesync.NewSeenClient(o.authorizerHealth)
	restriction, err2 := scopesync.NewSeenClient(o.restrictionHealth)
	return &config{*o, authorizer, restriction}, errors.Join(err1, err2)
}

// validate returns all errors, not only the first.
func (o *options) validate() []error {
	var problems []error
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(o.kubeconfig == "", "--kubeconfig is empty")
	report(len(validation.IsDNS1123Subdomain(o.nodeName)) > 0, "--node-name is %q, want the name of a Node", o.nodeName)
	for _, f := range [][2]string{{"authorization-config", o.authorization}, {"admission-manifest", o.admission},
		{"heartbeat-file", o.heartbeat}} {
		report(!filepath.IsAbs(f[1]), "--%s is %q, want an absolute path", f[0], f[1])
	}
	// The API server reads no other files of that directory.
	report(!strings.HasSuffix(o.admission, ".yaml"), "--admission-manifest is %q, want a name that ends in .yaml",
		o.admission)
	report(filepath.Dir(o.authorization) == filepath.Dir(o.admission),
		"--authorization-config and --admission-manifest are in the same directory, all of which the API server takes for "+
			"webhooks")
	for _, f := range [][2]string{
		{"node-authorizer-health", o.authorizerHealth}, {"node-restriction-health", o.restrictionHealth},
	} {
		_, err := scopesync.NewSeenClient(f[1])
		report(err != nil, "--%s: %w", f[0], err)
	}
	err := logsapi.Validate(o.logging, nil, nil).ToAggregate()
	report(err != nil, "logging: %w", err)
	return problems
}
