// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// bootstrapNames decodes a list of rows. Each row has a user or a group. If several rows match, all
// their names are allowed.
func (d *decoder) bootstrapNames(n *yaml.Node, path string) []BootstrapNames {
	rows := []BootstrapNames{}
	d.List(n, path, func(n *yaml.Node, path string) {
		var row BootstrapNames
		seen := d.object(n, path, map[string]field{
			"user":  func(n *yaml.Node, path string) { row.User = d.account(n, path) },
			"group": func(n *yaml.Node, path string) { row.Group = d.account(n, path) },
			"names": d.keys(&row.Names, nodeNames, reservation{}),
		})
		if n.Kind == yaml.MappingNode && seen["user"] == seen["group"] {
			d.Add(n, "%s needs either a user or a group", path)
		}
		if n.Kind == yaml.MappingNode && !seen["names"] {
			d.Add(n, "%s needs names; [] allows none", path)
		}
		rows = append(rows, row)
	})
	return rows
}

// account decodes the name of a user or group. Every name that is not empty is valid.
func (d *decoder) account(n *yaml.Node, path string) string {
	name, ok := d.text(n, path)
	if ok && name == "" {
		d.Add(n, "%s must not be empty", path)
	}
	return name
}

func nodeNames(beginning string, open bool) string {
	return wrongWith(beginning, open, validation.IsDNS1123Subdomain)
}
