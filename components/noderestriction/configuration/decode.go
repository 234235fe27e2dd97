// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

// decoder decodes YAML nodes. It continues after a problem, to report all of them.
type decoder struct{ strictyaml.Problems }

// field decodes one field of a mapping. path is the path of the field.
type field func(n *yaml.Node, path string)

// object decodes a mapping. A field that is not in fields is a problem. It returns the fields that
// are present.
func (d *decoder) object(n *yaml.Node, path string, fields map[string]field) map[string]bool {
	seen := map[string]bool{}
	d.Mapping(n, path, func(key, value *yaml.Node) {
		read, known := fields[key.Value]
		if !known {
			d.Unknown(key, path, slices.Sorted(maps.Keys(fields)))
			return
		}
		seen[key.Value] = true
		read(value, strictyaml.Join(path, key.Value))
	})
	return seen
}

// text decodes a string. A value that YAML reads as another type must be quoted. Otherwise YAML
// would read the version 1.10 as the number 1.1.
func (d *decoder) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.Add(n, "%s must be a string; quote what looks like something else", path)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) flag(into *bool) field {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.Add(n, "%s must be true or false", path)
			return
		}
		*into = n.Value[0] == 't' || n.Value[0] == 'T'
	}
}

// number decodes an integer from least to most, in decimal digits.
func (d *decoder) number(n *yaml.Node, path string, least, most int64) (int64, bool) {
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || value < least || value > most {
		d.Add(n, "%s must be a number from %d to %d", path, least, most)
		return 0, false
	}
	return value, true
}
