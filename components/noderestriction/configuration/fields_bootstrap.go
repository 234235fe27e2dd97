// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import "k8s.io/apimachinery/pkg/util/validation"

// bootstrapRow is a row of bootstrapNodeNames.
type bootstrapRow struct {
	User  string   `json:"user"`
	Group string   `json:"group"`
	Names []string `json:"names"`
}

// bootstrapNames checks that each row has a user or a group. Every name of a user or group that is
// not empty is valid. If several rows match, all their names are allowed.
func (v *validator) bootstrapNames(rows []bootstrapRow) []BootstrapNames {
	if rows == nil {
		return nil
	}
	all := []BootstrapNames{}
	for i, row := range rows {
		path := element("bootstrapNodeNames", i)
		if v.has(path+".user") == v.has(path+".group") {
			v.add(path, " needs either a user or a group")
		}
		if v.has(path+".user") && row.User == "" {
			v.add(path+".user", " must not be empty")
		}
		if v.has(path+".group") && row.Group == "" {
			v.add(path+".group", " must not be empty")
		}
		if row.Names == nil {
			v.add(path, " needs names; [] allows none")
		}
		all = append(all, BootstrapNames{row.User, row.Group, v.keys(path+".names", row.Names, nodeNames, reservation{})})
	}
	return all
}

func nodeNames(beginning string, open bool) string {
	return wrongWith(beginning, open, validation.IsDNS1123Subdomain)
}
