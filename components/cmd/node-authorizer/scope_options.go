// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// scopedPath is the path to which kube-apiserver sends the reviews of ServiceAccounts that have a
// scope.
const scopedPath = "/authorize-scoped"

// scopeOptions are the flags of node scope.
type scopeOptions struct {
	on     bool
	custom string
}

// scope is the configuration from scopeOptions.
type scope struct {
	custom nodescope.Declarations
}

func (o *scopeOptions) add(fs *pflag.FlagSet) {
	fs.BoolVar(&o.on, "node-scope", o.on,
		"Also serve "+scopedPath+
			", for ServiceAccounts whose pods are limited to their nodes. The identity then needs list and watch on "+
			"serviceaccounts. The entry in the API server's authorization configuration must have failurePolicy Deny.")
	fs.StringVar(&o.custom, "node-scope-custom-resources", o.custom,
		"Custom resources that have the name of their node in a field, as widgets.example.com=field:spec.node, or in a "+
			"label, as gadgets.example.com=label:example.com/node. The identity needs get on them. Requests for other "+
			"custom resources in a scope are denied.")
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
	return problems
}

// config must be called only on valid options. It returns nil if node scope is off.
func (o *scopeOptions) config() *scope {
	if !o.on {
		return nil
	}
	custom, _ := nodescope.ParseDeclarations(o.custom)
	return &scope{custom: custom}
}
