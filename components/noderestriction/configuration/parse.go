// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

const (
	apiVersion = "noderestriction.admission.k8s.io/v1"
	kind       = "Configuration"
	// MaxBytes is the size of the largest valid file, in bytes.
	MaxBytes = strictyaml.MaxBytes
)

// Parse parses a policy in YAML or JSON. It is strict: an unknown or duplicate field is an error.
// The error lists the line of every problem, up to 20 problems. It lists invalid values only if all
// fields are known and have the right type.
func Parse(data []byte) (*Configuration, error) {
	root, err := strictyaml.Parse(data)
	if err != nil {
		return nil, err
	}
	return ParseNode(root)
}

// ParseNode does the same as Parse for a part of a larger file. The node must come from
// [strictyaml.Parse].
func ParseNode(root *yaml.Node) (*Configuration, error) {
	if err := strictyaml.CheckHeader(root, apiVersion, kind); err != nil {
		return nil, err
	}
	c := Defaults()
	f := file{Caps: c.Caps}
	lines, err := strictyaml.Decode(root, &f)
	if err != nil {
		return nil, err
	}
	v := &validator{lines: lines}
	v.configuration(&f, c)
	if err := v.Err(); err != nil {
		return nil, err
	}
	return c, nil
}
