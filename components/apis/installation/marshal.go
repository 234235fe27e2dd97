// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

// Policy returns the configuration of node-restriction as a file, or nil if there is none.
func (i *Installation) Policy() ([]byte, error) {
	if i.NodePolicy.IsZero() {
		return nil, nil
	}
	return strictyaml.Encode(&i.NodePolicy)
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
	root, err := strictyaml.Node(rest)
	if err != nil {
		return nil, err
	}
	if !policy.IsZero() {
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "nodePolicy"}, &policy)
	}
	return strictyaml.Encode(root)
}
