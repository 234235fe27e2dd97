// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

const policyFlag = "node-restriction-config"

// policy returns the settings for node-restriction's file. If the flag is not set, it returns the
// recorded setting.
func (f *hostFlags) policy(fs *pflag.FlagSet, file string) (controlplane.Policy, error) {
	if !fs.Changed(policyFlag) {
		record, err := controlplane.ReadRecord(f.layout)
		if err != nil || record == nil {
			return controlplane.Policy{}, err
		}
		return controlplane.Policy{Own: record.Policy.Own}, nil
	}
	if file == "" {
		return controlplane.Policy{Reset: true}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return controlplane.Policy{}, fmt.Errorf("--%s: %w", policyFlag, err)
	}
	// A nil File would mean that the user gave no file.
	return controlplane.Policy{Own: true, File: append([]byte{}, data...)}, nil
}
