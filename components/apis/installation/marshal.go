// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"encoding/json"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

// Policy returns the configuration of node-restriction as a file, or nil if there is none.
func (i *Installation) Policy() ([]byte, error) {
	if i.NodePolicy.IsZero() {
		return nil, nil
	}
	return encode(&i.NodePolicy)
}

// SetPolicy sets the configuration of node-restriction from the content of its file.
func (i *Installation) SetPolicy(file []byte) error {
	root, err := strictyaml.Parse(file)
	if err == nil {
		i.NodePolicy = *root
	}
	return err
}

// Marshal returns the file. Absent fields stay absent. The fields have the order of the type.
func (i *Installation) Marshal() ([]byte, error) {
	policy := i.NodePolicy
	rest := *i
	rest.NodePolicy = yaml.Node{}
	text, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	// JSON is YAML. The node keeps the order of the fields, but has the style of JSON.
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	root := document.Content[0]
	if err := plainStyle(root); err != nil {
		return nil, err
	}
	if !policy.IsZero() {
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "nodePolicy"}, &policy)
	}
	return encode(root)
}

// plainStyle removes the style of JSON. Strings such as "off", which other programs read as a
// boolean, keep their quotes.
func plainStyle(n *yaml.Node) error {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return n.Encode(n.Value)
	}
	for _, child := range n.Content {
		if err := plainStyle(child); err != nil {
			return err
		}
	}
	return nil
}

func encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
