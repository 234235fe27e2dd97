// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
)

// loopbackPath is the path of the annotation in a DaemonSet. A node reads it from the pod of its own
// proxy: it may not read the DaemonSet.
var loopbackPath = []string{"spec", "template", "metadata", "annotations", node.LoopbackAnnotation}

// NodeLoopbackClients returns the value for the nodes: the setting, or its default. In mode audit,
// the default is allow: a client that reads the kubelet on 127.0.0.1 must still work there.
func (b Extensions) NodeLoopbackClients() node.LoopbackClients {
	switch {
	case b.LoopbackClients != "":
		return b.LoopbackClients
	case b.AuditOnly:
		return node.LoopbackAllow
	}
	return node.LoopbackDeny
}

// setLoopbackClients sets the annotation for the nodes in a DaemonSet. All control-plane hosts share
// the value. As with [plan.sharedModes], that of the current DaemonSet stays unless the user set it
// in this run. The DaemonSet of an older version has none.
func (p *plan) setLoopbackClients(object, have *unstructured.Unstructured) error {
	value := p.Extensions.NodeLoopbackClients()
	if current := loopbackClientsIn(have); !p.ExtensionsSet && current.Validate() == nil {
		value = current
	}
	return unstructured.SetNestedField(object.Object, value.String(), loopbackPath...)
}

// noteLoopbackClients says what to do after the value of a DaemonSet has changed.
func (p *plan) noteLoopbackClients(have, object *unstructured.Unstructured) {
	if have == nil || object.GetKind() != "DaemonSet" {
		return
	}
	if former, value := cmp.Or(loopbackClientsIn(have), node.LoopbackDeny), loopbackClientsIn(object); former != value {
		p.Note("loopback clients: %s -> %s. When the pods of the DaemonSet are replaced, run `bulkhead node install` on "+
			"each node to apply it", former, value)
	}
}

// loopbackClientsIn returns the value in a DaemonSet, which can be nil.
func loopbackClientsIn(object *unstructured.Unstructured) node.LoopbackClients {
	if object == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(object.Object, loopbackPath...)
	return node.LoopbackClients(value)
}
