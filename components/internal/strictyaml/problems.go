// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"errors"
	"fmt"

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
