// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"

	"go.yaml.in/yaml/v3"
)

// Node returns a value with json tags as YAML. Absent fields stay absent. The fields have the order
// of the type.
func Node(value any) (*yaml.Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	// JSON is YAML. The node keeps the order of the fields, but has the style of JSON.
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	return document.Content[0], plainStyle(document.Content[0])
}

// plainStyle removes the style of JSON. Strings such as "off", which other programs read as a
// boolean, keep their quotes. Such strings are short, and to encode every string takes seconds in a
// large file.
func plainStyle(n *yaml.Node) error {
	const longest = 32
	n.Style = 0
	if n.Kind == yaml.ScalarNode && len(n.Value) <= longest && n.ShortTag() == "!!str" {
		return n.Encode(n.Value)
	}
	for _, child := range n.Content {
		if err := plainStyle(child); err != nil {
			return err
		}
	}
	return nil
}

// Encode returns the text of a node.
func Encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
