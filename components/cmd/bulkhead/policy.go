// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install"
)

const policyFlag = "node-restriction-config"

// policy is what the flag says about node-restriction's file; without it, what the
// installation on this host was told.
func (f *hostFlags) policy(fs *pflag.FlagSet, file string) (install.Policy, error) {
	if !fs.Changed(policyFlag) {
		record, err := install.ReadRecord(f.layout)
		if err != nil || record == nil {
			return install.Policy{}, err
		}
		return install.Policy{Own: record.Policy.Own}, nil
	}
	if file == "" {
		return install.Policy{Reset: true}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return install.Policy{}, fmt.Errorf("--%s: %w", policyFlag, err)
	}
	// Nil would mean that nothing was given.
	return install.Policy{Own: true, File: append([]byte{}, data...)}, nil
}
