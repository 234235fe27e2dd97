// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// auditBase is the Installation to which the settings of findings are added.
type auditBase struct {
	config *installation.Installation
	// policy is the configuration of node-restriction. It is nil if there is none.
	policy *configuration.Configuration
	// profilePolicy is the configuration of profile hardened.
	profilePolicy []byte
}

// strict is true if node-authorizer will deny what no rule allows.
func (b auditBase) strict() bool { return b.config.Profile != string(controlplane.Parity) }

// base returns the Installation of --config, the one of this host, or the defaults.
func (o *auditOptions) base(in io.Reader) (auditBase, error) {
	config, err := o.baseConfig(in)
	if err != nil {
		return auditBase{}, err
	}
	b := auditBase{config: config}
	if b.profilePolicy, err = manifests.FS.ReadFile(manifests.RestrictionPolicy); err != nil {
		return b, err
	}
	policy, err := config.Policy()
	if err != nil {
		return b, err
	}
	if policy == nil && b.strict() {
		policy = b.profilePolicy
	}
	if policy != nil {
		b.policy, err = configuration.Parse(policy)
	}
	return b, err
}

func (o *auditOptions) baseConfig(in io.Reader) (*installation.Installation, error) {
	if o.config != "" {
		config, err := readConfig(o.config, in)
		if err == nil && config.Profile == string(controlplane.InTree) {
			err = errors.New("cannot add settings to profile in-tree, which has no components: use profile hardened")
		}
		return config, err
	}
	record, err := controlplane.ReadRecord(o.layout)
	if err != nil {
		return nil, fmt.Errorf("cannot read the installation of this host: %w; run this as root, or give --config", err)
	}
	if record == nil {
		return &installation.Installation{APIVersion: installation.APIVersion, Kind: installation.Kind}, nil
	}
	return installedConfig(o.layout, record)
}
