// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
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
	d.mapping(n, path, func(key, value *yaml.Node) {
		read, known := fields[key.Value]
		if !known {
			d.Add(key, "unknown field %q", strictyaml.Shorten(join(path, key.Value)))
			return
		}
		seen[key.Value] = true
		read(value, join(path, key.Value))
	})
	return seen
}

// mapping calls each for every pair of a mapping. A duplicate key is a problem.
func (d *decoder) mapping(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.Add(n, "%s must be an object", orFile(path))
		return
	}
	lines := map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		key := pair[0]
		if key.Kind != yaml.ScalarNode {
			d.Add(key, "%s has a key that is no string", orFile(path))
			continue
		}
		if before, twice := lines[key.Value]; twice {
			d.Add(key, "%q is there twice, first in line %d", strictyaml.Shorten(join(path, key.Value)), before)
			continue
		}
		lines[key.Value] = key.Line
		each(key, pair[1])
	}
}

// list calls each for every element of a sequence. It returns false if n is not a sequence.
func (d *decoder) list(n *yaml.Node, path string, each func(n *yaml.Node, path string)) bool {
	if n.Kind != yaml.SequenceNode {
		d.Add(n, "%s must be a list; [] is an empty one", path)
		return false
	}
	for i, element := range n.Content {
		each(element, path+"["+strconv.Itoa(i)+"]")
	}
	return true
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

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func orFile(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}
