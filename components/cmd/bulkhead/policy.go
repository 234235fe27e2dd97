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

// nodePolicy returns the settings for node-restriction's file. If the flag is not set, it returns the
// recorded setting.
func nodePolicy(fs *pflag.FlagSet, file string, record *controlplane.Record) (controlplane.Policy, error) {
	if !fs.Changed(policyFlag) {
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
