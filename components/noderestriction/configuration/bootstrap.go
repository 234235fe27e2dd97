// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import "slices"

// AllowsBootstrap reports whether a bootstrap user may request a certificate for a node name. It
// allows every name if there is no configuration, or if the configuration has no field
// bootstrapNodeNames. It is safe for concurrent use.
func (c *Configuration) AllowsBootstrap(user string, groups []string, node string) bool {
	if c == nil || c.BootstrapNames == nil {
		return true
	}
	return slices.ContainsFunc(c.BootstrapNames, func(row BootstrapNames) bool {
		applies := row.User != "" && row.User == user || row.Group != "" && slices.Contains(groups, row.Group)
		return applies && row.Names.Has(node)
	})
}
