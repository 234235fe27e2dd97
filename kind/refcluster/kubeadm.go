// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"fmt"
	"reflect"
	"regexp"

	"sigs.k8s.io/yaml"
)

// documents matches the line between two documents of a YAML file.
var documents = regexp.MustCompile(`(?m)^---\n`)

// joinKubeadmPatches returns patches with at most one ClusterConfiguration, which has what all of
// them have. kind would let a later patch replace the lists of an earlier one, such as extraArgs.
func joinKubeadmPatches(patches []string) ([]string, error) {
	var others []string
	cluster := map[string]any{}
	for _, patch := range patches {
		for _, document := range documents.Split(patch, -1) {
			content := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
				return nil, fmt.Errorf("cannot read a patch of kubeadm's configuration: %w\n%s", err, document)
			}
			if content["kind"] != "ClusterConfiguration" {
				others = append(others, document)
				continue
			}
			if err := addTo(cluster, content); err != nil {
				return nil, fmt.Errorf("cannot join the patches of ClusterConfiguration: %w", err)
			}
		}
	}
	if len(cluster) == 0 {
		return others, nil
	}
	joined, err := yaml.Marshal(cluster)
	return append(others, string(joined)), err
}

// addTo adds the fields of other. Lists are appended. Different values of one field are an error, and
// so are two arguments of the same name.
func addTo(into, other map[string]any) error {
	for key, value := range other {
		switch old := into[key].(type) {
		case nil:
			into[key] = value
		case map[string]any:
			fields, ok := value.(map[string]any)
			if !ok {
				return fmt.Errorf("%s is an object and %v", key, value)
			}
			if err := addTo(old, fields); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		case []any:
			items, ok := value.([]any)
			if !ok {
				return fmt.Errorf("%s is a list and %v", key, value)
			}
			into[key] = append(old, items...)
		default:
			if !reflect.DeepEqual(old, value) {
				return fmt.Errorf("%s is %v and %v", key, old, value)
			}
		}
		if err := checkNames(into[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// checkNames returns an error if two items of a list have the same name.
func checkNames(list any) error {
	items, _ := list.([]any)
	seen := map[any]bool{}
	for _, item := range items {
		fields, _ := item.(map[string]any)
		name := fields["name"]
		if name != nil && seen[name] {
			return fmt.Errorf("two items have the name %v", name)
		}
		seen[name] = true
	}
	return nil
}
