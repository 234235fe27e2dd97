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
		"Kubeconfig for the API server of this host, which reads the two files. "+
			"Its identity needs get, list and watch on serviceaccounts, list and watch on pods, get on /metrics, create and "+
			"patch on events, and get and patch on the ConfigMap kube-system/bulkhead-node-scope.")
	cluster.StringVar(&o.nodeName, "node-name", o.nodeName,
		"Name of this host's Node. It is the key of this host's state in the ConfigMap.")

	files := sections.FlagSet("files")
	files.StringVar(&o.authorization, "authorization-config", o.authorization,
		"File with the API server's authorization configuration, which has the entry node-scope.bulkhead.dev. The program "+
			"replaces the file by a rename, so its directory must be writable.")
	files.StringVar(&o.admission, "admission-manifest", o.admission,
		"File with the registration of the webhook node-scope.bulkhead.dev, in the directory from which the API server "+
			"loads webhooks. This directory must be writable too.")
	files.StringVar(&o.heartbeat, "heartbeat-file", o.heartbeat, "File that the program writes every two seconds. The "+
		"command scope-sync check reads it.")

	components := sections.FlagSet("components")
	components.StringVar(&o.authorizerHealth, "node-authorizer-health", o.authorizerHealth,
		"URL of node-authorizer's health port on this host. It reports which annotations node-authorizer has seen. An "+
			"account is live only after node-authorizer has seen its annotations.")
	components.StringVar(&o.restrictionHealth, "node-restriction-health", o.restrictionHealth,
		"URL of node-restriction's health port on this host. It reports which annotations node-restriction has seen. An "+
			"account is live only after node-restriction has seen its annotations.")

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
		"--authorization-config and --admission-manifest are in the same directory: the API server loads every .yaml file "+
			"of it as a webhook")
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
