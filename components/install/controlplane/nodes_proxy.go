// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const (
	policyBinding = "ValidatingAdmissionPolicyBinding"
	// staticSuffix is required in the names of policies from disk. The API rejects names with it,
	// so policies in the API have registeredSuffix.
	staticSuffix, registeredSuffix = ".bulkhead.static.k8s.io", ".bulkhead.dev"
)

// readsPolicies is true if kube-apiserver reads the policy for nodes/proxy from disk.
func (p *plan) readsPolicies() bool { return p.fromDisk && p.GuardsKubelets() }

// nodesProxyPolicy returns the policy for nodes/proxy and its binding. In mode audit, the policy
// denies nothing. The audit event of the API server shows what it would have denied (annotation
// validation.policy.admission.k8s.io/validation_failure). In mode off, there is no binding. The
// file stays, so the API server does not need a restart.
func nodesProxyPolicy(mode rules.Mode) ([]*unstructured.Unstructured, error) {
	all, err := render.Manifest(manifests.KubeletPolicy)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, object := range all {
		binds := object.GetKind() == policyBinding
		if binds && mode == rules.Off {
			continue
		}
		if binds && mode == rules.Audit {
			if err := unstructured.SetNestedStringSlice(object.Object, []string{"Audit"}, "spec",
				"validationActions"); err != nil {
				return nil, err
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func (p *plan) writeKubeletPolicy() (bool, error) {
	if p.nodesProxy == rules.Enforce {
		data, err := manifests.FS.ReadFile(manifests.KubeletPolicy)
		if err != nil {
			return false, err
		}
		return p.write(p.Layout.KubeletPolicy(), data, 0o600)
	}
	objects, err := nodesProxyPolicy(p.nodesProxy)
	if err != nil {
		return false, err
	}
	var documents [][]byte
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return false, err
		}
		documents = append(documents, document)
	}
	return p.write(p.Layout.KubeletPolicy(), bytes.Join(documents, []byte("---\n")), 0o600)
}

// registeredNodesProxy returns the same objects with names for the API.
func registeredNodesProxy(mode rules.Mode) ([]*unstructured.Unstructured, error) {
	objects, err := nodesProxyPolicy(mode)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		object.SetName(strings.TrimSuffix(object.GetName(), staticSuffix) + registeredSuffix)
		if object.GetKind() != policyBinding {
			continue
		}
		policy, _, err := unstructured.NestedString(object.Object, "spec", "policyName")
		if err != nil {
			return nil, err
		}
		if err := unstructured.SetNestedField(object.Object, strings.TrimSuffix(policy, staticSuffix)+registeredSuffix,
			"spec", "policyName"); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// registerNodesProxy creates the policy in the API if the server does not read policies from disk.
// It deletes the policy if it is not wanted, or if the server now reads it from disk. Preflight
// ensures that such an old server is the only one of its cluster.
func (p *plan) registerNodesProxy(ctx context.Context) (changed bool, err error) {
	if !p.GuardsKubelets() || p.fromDisk || p.nodesProxy == rules.Off {
		return p.forgetNodesProxy(ctx)
	}
	objects, err := registeredNodesProxy(p.nodesProxy)
	if err != nil {
		return false, err
	}
	changed, err = p.applyAll(ctx, objects)
	if changed && err == nil {
		p.Note("this kube-apiserver takes no policies from disk (it does from 1.37 on), so KA-VAP-1 is an " +
			"object in the API: a user who may delete\n             a ValidatingAdmissionPolicy or its binding can " +
			"allow access through nodes/proxy again")
	}
	return changed, err
}

func (p *plan) forgetNodesProxy(ctx context.Context) (changed bool, err error) {
	objects, err := registeredNodesProxy(rules.Enforce)
	if err != nil {
		return false, err
	}
	slices.Reverse(objects)
	return p.dropAll(ctx, objects)
}
