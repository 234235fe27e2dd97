// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Diff returns one line for each field with another value in want than in have, in the order of the
// names.
func Diff(have, want *Installation) ([]string, error) {
	before, err := have.flatten()
	if err != nil {
		return nil, err
	}
	after, err := want.flatten()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before[path] != after[path] {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", path, orDefault(before[path]), orDefault(after[path])))
		}
	}
	return lines, nil
}

func orDefault(value string) string {
	if value == "" {
		return "(default)"
	}
	return value
}

// flatten returns the value of each field by its path.
func (i *Installation) flatten() (map[string]string, error) {
	data, err := i.Marshal()
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	values := map[string]string{}
	flatten(document.Content[0], "", values)
	return values, nil
}

func flatten(n *yaml.Node, path string, into map[string]string) {
	switch {
	case len(n.Content) > 0 && n.Kind == yaml.MappingNode:
		for pair := range slices.Chunk(n.Content, 2) {
			flatten(pair[1], strings.TrimPrefix(path+"."+pair[0].Value, "."), into)
		}
	case len(n.Content) > 0:
		for index, element := range n.Content {
			flatten(element, fmt.Sprintf("%s[%d]", path, index), into)
		}
	case n.Kind == yaml.MappingNode:
		into[path] = "{}"
	case n.Kind == yaml.SequenceNode:
		into[path] = "[]"
	default:
		into[path] = fmt.Sprintf("%q", n.Value)
	}
}
