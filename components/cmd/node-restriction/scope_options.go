// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

const (
	// scopedPath is the path to which kube-apiserver sends the writes of accounts that have a
	// scope.
	scopedPath = "/node-scope"
	// shortestViewAge is the same as for node-authorizer's flag --max-view-age.
	shortestViewAge = 10 * time.Second
)

// scopeOptions are the values of the flags for node scope.
type scopeOptions struct {
	on         bool
	custom     string
	maxViewAge time.Duration
}

// scope is the configuration that scopeOptions result in.
type scope struct {
	custom     nodescope.Declarations
	maxViewAge time.Duration
}

func defaultScopeOptions() scopeOptions { return scopeOptions{maxViewAge: graphsync.DefaultMaxAge} }

func (o *scopeOptions) add(fs *pflag.FlagSet) {
	fs.BoolVar(&o.on, "node-scope", o.on,
		"Answer at "+scopedPath+
			" too, for ServiceAccounts whose pods are limited to their nodes, and keep nodes from the annotations of node "+
			"scope. The identity then needs list and watch on serviceaccounts and pods. The registration must have failurePolicy "+
			"Fail. Off, the path is not there.")
	fs.StringVar(&o.custom, "node-scope-custom-resources", o.custom,
		"Custom resources that name their node in a field, widgets.example.com=field:spec.node, or in a label, "+
			"gadgets.example.com=label:example.com/node: the same as node-authorizer's, which denies a custom resource in a "+
			"scope that is not named there.")
	fs.DurationVar(&o.maxViewAge, "max-view-age", o.maxViewAge,
		"How long the API server may say nothing about service accounts or pods before every write of an account with a "+
			"scope is refused. A healthy one says something every minute.")
}

// validate returns every problem.
func (o *scopeOptions) validate() []error {
	var problems []error
	if _, err := nodescope.ParseDeclarations(o.custom); err != nil {
		problems = append(problems, fmt.Errorf("--node-scope-custom-resources: %w", err))
	}
	if o.custom != "" && !o.on {
		problems = append(problems, errors.New("--node-scope-custom-resources is given without --node-scope"))
	}
	if o.on && o.maxViewAge < shortestViewAge {
		problems = append(problems, fmt.Errorf("--max-view-age is %v, want at least %v", o.maxViewAge, shortestViewAge))
	}
	return problems
}

// config returns the configuration for valid options. It returns nil if node scope is off.
func (o *scopeOptions) config() *scope {
	if !o.on {
		return nil
	}
	custom, _ := nodescope.ParseDeclarations(o.custom)
	return &scope{custom: custom, maxViewAge: o.maxViewAge}
}
