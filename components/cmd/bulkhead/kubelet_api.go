// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

const kubeletAPIFlag = "kubelet-api"

// kubeletAPI returns the value of --kubelet-api. If the flag is not set, it returns the recorded
// value. It returns nil if there is none.
func (f *hostFlags) kubeletAPI(fs *pflag.FlagSet, value bool) (*bool, error) {
	if fs.Changed(kubeletAPIFlag) {
		return &value, nil
	}
	record, err := controlplane.ReadRecord(f.layout)
	if err != nil || record == nil {
		return nil, err
	}
	return record.KubeletAPI, nil
}
