// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// configHash returns the SHA-256 of what `bulkhead status -o yaml` prints for the record.
func configHash(l host.Layout, r *controlplane.Record) (string, error) {
	c, err := installedConfig(l, r)
	if err != nil {
		return "", err
	}
	text, err := c.Marshal()
	return journal.Hash(text), err
}
