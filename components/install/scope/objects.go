// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// readerRole is the ClusterRole with node-authorizer's read access for node scope.
const readerRole = "bulkhead:node-authorizer:node-scope"

// Objects returns the API objects that only node scope needs.
func Objects(s Options) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, dir := range []string{"node-authorizer-scope", "node-restriction-scope", SyncName} {
		objects, err := render.Objects(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, object := range all {
		if object.GetKind() == "ClusterRole" && object.GetName() == readerRole {
			if err := s.addReads(object); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// addReads gives node-authorizer get on the custom resources, so that it can read which node they
// name.
func (s Options) addReads(role *unstructured.Unstructured) error {
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(s.CustomResources, ",") {
		resource, _, _ := strings.Cut(strings.TrimSpace(entry), "=")
		name, group, named := strings.Cut(resource, ".")
		if !named {
			continue // the list is empty
		}
		rules = append(rules, map[string]any{
			"apiGroups": []any{group}, "resources": []any{name}, "verbs": []any{"get"},
		})
	}
	return unstructured.SetNestedSlice(role.Object, rules, "rules")
}
