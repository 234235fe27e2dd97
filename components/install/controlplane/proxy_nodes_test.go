// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// selected returns the expressions in the node affinity of the DaemonSet.
func (h *testHost) selected() []any {
	h.t.Helper()
	terms, _, err := unstructured.NestedSlice(h.objects["DaemonSet/bulkhead-kubelet-auth-proxy"].Object,
		append(append([]string{}, affinityPath...), "nodeSelectorTerms")...)
	must(h.t, err)
	if len(terms) == 0 {
		return nil
	}
	expressions, _, err := unstructured.NestedSlice(terms[0].(map[string]any), "matchExpressions")
	must(h.t, err)
	return expressions
}

func selecting(selector string) Options {
	o := options(Hardened)
	o.ExtensionsSet, o.Extensions.NodeSelector = true, selector
	return o
}

func TestNodeSelectorBecomesANodeAffinity(t *testing.T) {
	expression := func(key, operator string, values ...any) map[string]any {
		e := map[string]any{"key": key, "operator": operator}
		if len(values) > 0 {
			e["values"] = values
		}
		return e
	}
	for selector, want := range map[string][]any{
		"":                     nil,
		"pool=a":               {expression("pool", "In", "a")},
		"pool==a":              {expression("pool", "In", "a")},
		"pool!=a":              {expression("pool", "NotIn", "a")},
		"pool in (b,a),zone":   {expression("pool", "In", "a", "b"), expression("zone", "Exists")},
		"pool notin (a),!edge": {expression("edge", "DoesNotExist"), expression("pool", "NotIn", "a")},
		"example.com/cores>4":  {expression("example.com/cores", "Gt", "4")},
		"example.com/cores<4":  {expression("example.com/cores", "Lt", "4")},
		"pool=a,pool!=b":       {expression("pool", "In", "a"), expression("pool", "NotIn", "b")},
	} {
		onHost(t, "selector "+selector, func(t *testing.T, h *testHost) {
			must(t, h.withKubelets(nil).Install(t.Context(), selecting(selector)))
			if diff := cmp.Diff(want, h.selected()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// All hosts share the DaemonSet. A run in which the user sets no selector keeps it.
func TestNodeSelectorIsShared(t *testing.T) {
	onHost(t, "a host", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), selecting("pool!=edge")))
		want := h.selected()
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		if diff := cmp.Diff(want, h.selected()); diff != "" || len(want) != 1 {
			t.Errorf("-want +got:\n%s", diff)
		}
		must(t, h.withKubelets(nil).Install(t.Context(), selecting("")))
		if got := h.selected(); got != nil {
			t.Errorf("after an empty selector: %v", got)
		}
	})
}

// If its proxy were removed, a kubelet that is behind it would be unreachable.
func TestGuardedNodesAreNotLeftOut(t *testing.T) {
	onHost(t, "a host", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		h.labels = map[string]labels.Set{"worker-1": {"pool": "edge"}, "worker-2": {"pool": "edge"}, "worker-3": {}}
		h.proxied = []string{"worker-1 (cannot ask its kubelet: timeout)", "worker-3"}
		before := h.snapshot()
		mentions(t, h.withKubelets(nil).Install(t.Context(), selecting("pool!=edge")),
			"kubelet-auth-proxy serves the kubelets of worker-1 (cannot ask its kubelet: timeout): "+
				"run `bulkhead node uninstall`")
		h.mustBe(before)
		h.proxied = []string{"worker-3"}
		must(t, h.withKubelets(nil).Install(t.Context(), selecting("pool!=edge")))
		if len(h.selected()) != 1 {
			t.Errorf("the nodes are not left out: %v", h.selected())
		}
	})
}

func TestInvalidNodeSelectorIsRejected(t *testing.T) {
	for _, selector := range []string{"pool in", "pool=a b", "=", "pool in (a"} {
		mentions(t, Extensions{NodeSelector: selector}.Validate(), "--kubelet-node-selector: ")
	}
}
