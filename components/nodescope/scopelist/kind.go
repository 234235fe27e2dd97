// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// EntryName is the name of the authorizer in one file, and of the webhook in the other.
const EntryName = "node-scope.bulkhead.dev"

// The expressions of the templates, with an empty list.
const (
	AuthorizationExpression = beforeAuthorization + " []"
	AdmissionExpression     = beforeAdmission + " []"

	beforeAuthorization = "has(request.user) && request.user in"
	beforeAdmission     = "has(request.userInfo) && has(request.userInfo.username) && request.userInfo.username in"
)

// Kind is one of the two files. Its values are [Authorization] and [Admission].
type Kind struct {
	// before is the expression up to the list.
	before string
	// conditions finds the match conditions of the entry [EntryName], and checks the fields
	// next to them.
	conditions func(root *yaml.Node) (*yaml.Node, error)
}

// Authorization is the file of kube-apiserver's --authorization-config.
//
// Source: k8s.io/apiserver/pkg/apis/apiserver/v1 AuthorizationConfiguration.
var Authorization = &Kind{before: beforeAuthorization, conditions: authorizerConditions}

// Admission is a file in the directory of manifest-based admission (KEP-5793).
//
// Source: k8s.io/api/admissionregistration/v1 ValidatingWebhookConfiguration.
var Admission = &Kind{before: beforeAdmission, conditions: webhookConditions}

func authorizerConditions(root *yaml.Node) (*yaml.Node, error) {
	if err := is(root, map[string][]string{"apiVersion": {"apiserver.config.k8s.io/v1"},
		"kind": {"AuthorizationConfiguration"}}); err != nil {
		return nil, err
	}
	entry, err := entryIn(field(root, "authorizers"))
	if err != nil {
		return nil, err
	}
	webhook := field(entry, "webhook")
	return field(webhook, "matchConditions"), errors.Join(
		is(entry, map[string][]string{"type": {"Webhook"}}),
		// An installation that only audits has NoOpinion.
		is(webhook, map[string][]string{"failurePolicy": {"Deny", "NoOpinion"}}),
	)
}

func webhookConditions(root *yaml.Node) (*yaml.Node, error) {
	if err := is(root, map[string][]string{"apiVersion": {"admissionregistration.k8s.io/v1"},
		"kind": {"ValidatingWebhookConfiguration"}}); err != nil {
		return nil, err
	}
	entry, err := entryIn(field(root, "webhooks"))
	if err != nil {
		return nil, err
	}
	return field(entry, "matchConditions"), is(entry, map[string][]string{
		// An installation that only audits has Ignore.
		"failurePolicy": {"Fail", "Ignore"}, "sideEffects": {"None"},
		// A webhook that hangs delays every write of a listed account by this time.
		"timeoutSeconds": {"1", "2"},
	})
}

// entryIn finds the only entry with the name [EntryName].
func entryIn(list *yaml.Node) (*yaml.Node, error) {
	var found *yaml.Node
	for _, entry := range items(list) {
		if scalar(field(entry, "name")) != EntryName {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("there are two entries named %s", EntryName)
		}
		found = entry
	}
	if found == nil {
		return nil, fmt.Errorf("there is no entry named %s", EntryName)
	}
	return found, nil
}

// is returns an error for each field whose value is not one of the wanted values.
func is(node *yaml.Node, want map[string][]string) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got := scalar(field(node, key)); !slices.Contains(want[key], got) {
			errs = append(errs, fmt.Errorf("%s is %q, want %q", key, got, want[key]))
		}
	}
	return errors.Join(errs...)
}

// field returns nil if node is not a mapping, or does not have the key.
func field(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func items(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

func scalar(node *yaml.Node) string {
	if node == nil || node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}
