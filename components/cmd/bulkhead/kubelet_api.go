// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

const kubeletAPIFlag = "kubelet-api"

// kubeletAPI is what --kubelet-api says. Without it an installation goes on as it was
// told before; nil if it was told nothing.
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
