// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// mostProblems is how many problems one error tells of.
const mostProblems = 20

// decoder reads nodes, and goes on after a problem.
type decoder struct {
	problems []error
	untold   int
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	if len(d.problems) == mostProblems {
		d.untold++
		return
	}
	d.problems = append(d.problems, fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...))
}

func (d *decoder) err() error {
	if d.untold > 0 {
		return errors.Join(append(d.problems, fmt.Errorf("and %d more", d.untold))...)
	}
	return errors.Join(d.problems...)
}

// plain refuses what makes YAML say one thing in two places, or something else
// than it looks like. Nothing is ever expanded, so no file is longer than it is.
func (d *decoder) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.fail(n, "%s", quoteIt("*"+n.Value))
		return
	case n.Anchor != "":
		d.fail(n, "anchors (&%s) are not allowed", shorten(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, "tags (%s) are not allowed", shorten(n.Tag))
	}
	for _, child := range n.Content {
		d.plain(child)
	}
}

// field reads one field of a mapping. The path is that of the field.
type field func(n *yaml.Node, path string)

// object reads a mapping whose fields are all known. It returns those that were there.
func (d *decoder) object(n *yaml.Node, path string, fields map[string]field) map[string]bool {
	seen := map[string]bool{}
	d.mapping(n, path, func(key, value *yaml.Node) {
		read, known := fields[key.Value]
		if !known {
			d.fail(key, "unknown field %q", shorten(join(path, key.Value)))
			return
		}
		seen[key.Value] = true
		read(value, join(path, key.Value))
	})
	return seen
}

// mapping hands out the pairs of a mapping, each key once.
func (d *decoder) mapping(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s must be an object", orFile(path))
		return
	}
	lines := map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		key := pair[0]
		if key.Kind != yaml.ScalarNode {
			d.fail(key, "%s has a key that is no string", orFile(path))
			continue
		}
		if before, twice := lines[key.Value]; twice {
			d.fail(key, "%q is there twice, first in line %d", shorten(join(path, key.Value)), before)
			continue
		}
		lines[key.Value] = key.Line
		each(key, pair[1])
	}
}

// list hands out the elements of a sequence. It is false if there is none.
func (d *decoder) list(n *yaml.Node, path string, each func(n *yaml.Node, path string)) bool {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "%s must be a list; [] is an empty one", path)
		return false
	}
	for i, element := range n.Content {
		each(element, path+"["+strconv.Itoa(i)+"]")
	}
	return true
}

// text reads a string. What YAML takes for something else must be quoted: a
// version 1.10 would otherwise be another one than it looks like.
func (d *decoder) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.fail(n, "%s must be a string; quote what looks like something else", path)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) flag(into *bool) field {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.fail(n, "%s must be true or false", path)
			return
		}
		*into = n.Value[0] == 't' || n.Value[0] == 'T'
	}
}

// number reads an integer from least to most, in decimal digits.
func (d *decoder) number(n *yaml.Node, path string, least, most int64) (int64, bool) {
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || value < least || value > most {
		d.fail(n, "%s must be a number from %d to %d", path, least, most)
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
