// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Path says how an object is related to a node, by the objects that the API server has now.
type Path struct {
	Node   string `json:"node"`
	Object string `json:"object"`
	// Related is true if the object is related to the node.
	Related bool `json:"related"`
	// OnlyWithout is the optional rule that denies although there is a path: the pod has ended, for
	// example. It is empty if there is none.
	OnlyWithout rules.ID `json:"onlyWithout,omitempty"`
	// Here are the paths to the node, Elsewhere are paths to other nodes: node worker-1 <- pod
	// default/web <- secret default/tls.
	Here      []string `json:"here,omitempty"`
	Elsewhere []string `json:"elsewhere,omitempty"`
	// More is the number of paths that are left out.
	More int `json:"more,omitempty"`
	// Missing says what is missing. It is empty if the object is related.
	Missing string `json:"missing,omitempty"`
	// Unknown is why the path cannot be found. Then all other fields are empty.
	Unknown string `json:"unknown,omitempty"`
}

// shownPaths bounds each list.
const shownPaths = 5

// chain is one path, from the node to the object. node is empty if it ends before a node.
type chain struct {
	node  string
	steps []graph.Reference
	// mirror is true for a mirror pod, which gives no access.
	mirror bool
}

func (c chain) String() string {
	parts := []string{"node " + webhook.Loggable(c.node)}
	if c.node == "" {
		parts[0] = "no node"
	}
	for _, step := range c.steps {
		parts = append(parts, nameOf(step))
	}
	return strings.Join(parts, " <- ")
}

// conditions are the optional rules of the graph.
var conditions = map[graph.Condition]rules.ID{graph.Ended: "NA-POD-6", graph.Unusable: "NA-SA-3",
	graph.Unowned: "NA-PVC-3"}

// view is what was read for one question.
type view struct {
	graph  *graph.Graph
	chains []chain
	// notes are what the API server has of the object itself, for example that it does not exist.
	notes []string
}

// newView audits the optional rules: so a path that one of them does not accept is found, with the
// rule.
func newView() *view {
	return &view{graph: graph.New(graph.Options{Ended: rules.Audit, Unusable: rules.Audit, Unowned: rules.Audit})}
}

// path describes what was read.
func (v *view) path(node string, o object) *Path {
	p := &Path{Node: webhook.Loggable(node), Object: o.String()}
	relation := v.graph.Relation(node, o.Kind, o.Namespace, o.Name)
	p.Related, p.OnlyWithout = relation.Related, conditions[relation.Condition]
	slices.SortStableFunc(v.chains, func(a, b chain) int { return cmp.Compare(a.String(), b.String()) })
	mirrors := 0
	for _, c := range v.chains {
		switch {
		case c.mirror:
			if c.node == node {
				mirrors++
			}
		case c.node == node:
			p.add(&p.Here, c)
		default:
			p.add(&p.Elsewhere, c)
		}
	}
	if !p.Related {
		p.Missing = v.missing(p, o, mirrors)
	}
	return p
}

func (p *Path) add(to *[]string, c chain) {
	if len(*to) >= shownPaths {
		p.More++
		return
	}
	*to = append(*to, c.String())
}

func (v *view) missing(p *Path, o object, mirrors int) string {
	text := fmt.Sprintf("no pod on node %s uses %s", p.Node, p.Object)
	if o.kind == kindOfNodes {
		text = fmt.Sprintf("%s does not name node %s", p.Object, p.Node)
	}
	if len(v.notes) > 0 {
		text += " (" + strings.Join(v.notes, ", ") + ")"
	}
	switch {
	case mirrors > 0:
		text += "; a mirror pod does, but mirror pods give no access"
	case len(p.Elsewhere) > 0 && o.kind != kindOfNodes:
		text += "; pods that are not on it do"
	case o.kind != kindOfNodes:
		text += ", and no other pod does"
	}
	return text
}
