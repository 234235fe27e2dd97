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
		"Also serve "+scopedPath+
			", for ServiceAccounts whose pods are limited to their nodes, and deny nodes the annotations of node scope. The "+
			"identity then needs list and watch on serviceaccounts and pods. The webhook registration must have "+
			"failurePolicy Fail.")
	fs.StringVar(&o.custom, "node-scope-custom-resources", o.custom,
		"Custom resources that have the name of their node in a field, as widgets.example.com=field:spec.node, or in a "+
			"label, as gadgets.example.com=label:example.com/node. Use the same value for node-authorizer, which denies "+
			"requests for other custom resources in a scope.")
	fs.DurationVar(&o.maxViewAge, "max-view-age", o.maxViewAge,
		"Maximum time without data from the API server about service accounts or pods. After that, every write of an "+
			"account with a scope is denied. A healthy API server sends data every minute.")
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
