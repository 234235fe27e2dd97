// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"fmt"
	"strings"

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
	if err := strictyaml.CheckHeader(root, APIVersion, Kind); err != nil {
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
