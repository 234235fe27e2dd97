// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// nodeSelectorAnnotation is an annotation of the DaemonSet with the nodes that get kubelet-auth-proxy,
// as a label selector.
const nodeSelectorAnnotation = "bulkhead.dev/node-selector"

// affinityPath is the path of the required node affinity in a DaemonSet.
var affinityPath = []string{"spec", "template", "spec", "affinity", "nodeAffinity",
	"requiredDuringSchedulingIgnoredDuringExecution"}

// affinityOperators are the operators of a node affinity, by those of a label selector.
var affinityOperators = map[selection.Operator]string{
	selection.Equals: "In", selection.DoubleEquals: "In", selection.In: "In",
	selection.NotEquals: "NotIn", selection.NotIn: "NotIn",
	selection.Exists: "Exists", selection.DoesNotExist: "DoesNotExist",
	selection.GreaterThan: "Gt", selection.LessThan: "Lt",
}

// sharedNodeSelector returns the selector of the nodes, which all control-plane hosts share. As with
// [plan.sharedModes], that of the current DaemonSet stays unless the user set it in this run.
func (p *plan) sharedNodeSelector(have *unstructured.Unstructured) string {
	if have == nil || p.ExtensionsSet {
		return p.Extensions.NodeSelector
	}
	return have.GetAnnotations()[nodeSelectorAnnotation]
}

// selectNodes sets the nodes of the DaemonSet.
func selectNodes(object *unstructured.Unstructured, selector string) error {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return fmt.Errorf("reading the selector of nodes %q: %w", selector, err)
	}
	requirements, _ := parsed.Requirements()
	if len(requirements) == 0 {
		return nil
	}
	expressions := make([]any, 0, len(requirements))
	for _, r := range requirements {
		expression := map[string]any{"key": r.Key(), "operator": affinityOperators[r.Operator()]}
		if values := r.Values().List(); len(values) > 0 {
			all := make([]any, len(values))
			for i := range values {
				all[i] = values[i]
			}
			expression["values"] = all
		}
		expressions = append(expressions, expression)
	}
	if err := unstructured.SetNestedField(object.Object, selector, "metadata", "annotations",
		nodeSelectorAnnotation); err != nil {
		return err
	}
	return unstructured.SetNestedSlice(object.Object, []any{map[string]any{"matchExpressions": expressions}},
		append(slices.Clone(affinityPath), "nodeSelectorTerms")...)
}

// keepProxies fails if a kubelet is behind its proxy, and the new selector leaves out its node: the
// proxy would be deleted, and the kubelet would be unreachable.
func (p *plan) keepProxies(ctx context.Context, have *unstructured.Unstructured, selector string) error {
	if have == nil || selector == "" || have.GetAnnotations()[nodeSelectorAnnotation] == selector {
		return nil
	}
	parsed, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	left, err := p.Nodes.NodesWithout(ctx, parsed)
	if err != nil {
		return err
	}
	proxied, err := p.Nodes.ProxiedNodes(ctx)
	if err != nil {
		return fmt.Errorf("looking for kubelets behind their proxies: %w", err)
	}
	proxied = slices.DeleteFunc(slices.Clone(proxied), func(node string) bool {
		name, _, _ := strings.Cut(node, " ") // a cause can follow the name
		return !slices.Contains(left, name)
	})
	if len(proxied) == 0 {
		return nil
	}
	return fmt.Errorf("cannot leave out nodes with the selector %q: kubelet-auth-proxy serves the kubelets of %s: run "+
		"`bulkhead node uninstall` on the host of each, then this again. A kubelet that cannot be asked needs a serving "+
		"certificate of the cluster first: set serverTLSBootstrap: true in its configuration",
		selector, strings.Join(proxied, ", "))
}
