// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// Parse reads an Installation in YAML or JSON, of at most 1 MiB. It is strict: an unknown or
// duplicate field is an error. The error lists the line of every problem, up to 20 problems.
func Parse(data []byte) (*Installation, error) {
	root, err := strictyaml.Parse(data)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(root); err != nil {
		return nil, err
	}
	i := &Installation{}
	lines, err := strictyaml.Decode(root, i)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, problem := range i.Validate() {
		errs = append(errs, fmt.Errorf("line %d: %w", lineOf(lines, problem.Field), problem))
	}
	if !i.NodePolicy.IsZero() {
		if _, err := configuration.ParseNode(&i.NodePolicy); err != nil {
			errs = append(errs, fmt.Errorf("nodePolicy: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return i, nil
}

// checkHeader comes first: the fields of another version are not known.
func checkHeader(root *yaml.Node) error {
	values := map[string]*yaml.Node{}
	if root.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(root.Content, 2) {
			values[pair[0].Value] = pair[1]
		}
	}
	p := strictyaml.Problems{}
	for _, want := range []struct{ field, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		switch value := values[want.field]; {
		case value == nil:
			p.Add(root, "%s is missing; it must be %s", want.field, want.value)
		case value.Value != want.value:
			p.Add(value, "%s is %q; this program supports only %s", want.field, strictyaml.Shorten(value.Value), want.value)
		}
	}
	return p.Err()
}

// lineOf returns the line of a field, or of the closest field around it.
func lineOf(lines map[string]int, path string) int {
	for path != "" {
		if line, ok := lines[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return lines[""]
}
