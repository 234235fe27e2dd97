// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import "github.com/bulkhead-k8s/bulkhead/components/install/journal"

// Unfinished reports whether node install is running on this host, or was killed.
func (k *KubeletInstaller) Unfinished() (bool, error) {
	j, err := journal.Open(k.Layout.nodeJournal())
	return j != nil, err
}
