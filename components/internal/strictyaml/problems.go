// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxProblems is how many problems an error lists.
const maxProblems = 20

// Problems collects the problems of one file. The zero value is ready to use. It is not safe for
// concurrent use.
type Problems struct {
	all     []error
	omitted int
}

// Add adds a problem in the line of a node.
func (p *Problems) Add(n *yaml.Node, format string, args ...any) {
	if len(p.all) == maxProblems {
		p.omitted++
		return
	}
	p.all = append(p.all, fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...))
}

// Len returns how many problems Err lists.
func (p *Problems) Len() int { return len(p.all) }

// Err returns an error with all problems, one in a line, or nil. It lists the first 20 and counts
// the others.
func (p *Problems) Err() error {
	if p.omitted > 0 {
		return errors.Join(append(p.all, fmt.Errorf("and %d more", p.omitted))...)
	}
	return errors.Join(p.all...)
}

// checkPlain reports anchors, aliases and tags. Without them, a small file cannot expand to a large
// one.
func (p *Problems) checkPlain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		p.Add(n, "%s", quoteIt("*"+n.Value))
		return
	case n.Anchor != "":
		p.Add(n, "anchors (&%s) are not allowed", Shorten(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		p.Add(n, "tags (%s) are not allowed", Shorten(n.Tag))
	}
	for _, child := range n.Content {
		p.checkPlain(child)
	}
}

// Mapping calls each for every pair of a mapping. path is the path of the mapping. A duplicate key, or
// a node of another kind, is a problem.
func (p *Problems) Mapping(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.Add(n, "%s must be an object", orFile(path))
		return
	}
	lines := map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		key := pair[0]
		if key.Kind != yaml.ScalarNode {
			p.Add(key, "%s has a key that is not a string", orFile(path))
			continue
		}
		if before, twice := lines[key.Value]; twice {
			p.Add(key, "duplicate field %q, first in line %d", Shorten(Join(path, key.Value)), before)
			continue
		}
		lines[key.Value] = key.Line
		each(key, pair[1])
	}
}

// List calls each for every element of a sequence, with the path of the element. It returns false if n
// is not a sequence, which is a problem.
func (p *Problems) List(n *yaml.Node, path string, each func(n *yaml.Node, path string)) bool {
	if n.Kind != yaml.SequenceNode {
		p.Add(n, "%s must be a list; [] is an empty one", path)
		return false
	}
	for i, element := range n.Content {
		each(element, path+"["+strconv.Itoa(i)+"]")
	}
	return true
}

// Unknown adds an unknown field. known are the names of the fields of the object, sorted. The problem
// names the one that the user may have meant, or all.
func (p *Problems) Unknown(key *yaml.Node, path string, known []string) {
	p.Add(key, "unknown field %q%s", Shorten(Join(path, key.Value)), suggestion(key.Value, known))
}

// Join returns the path of a field of the object at a path.
func Join(path, name string) string {
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
