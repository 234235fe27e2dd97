// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// place is a node with a kubelet: most pods of the stage are on own.
type place func() string

func own() string   { return suite.Worker }
func other() string { return suite.ControlPlane }

// bystander is the pod of somebody else on that node.
func (where place) bystander() string {
	if where() == suite.Worker {
		return ours
	}
	return theirs
}

// fields are the body of a merge patch, or a part of one.
type fields = map[string]any

func metadata(key string, value any) fields { return fields{"metadata": fields{key: value}} }
func spec(key string, value any) fields     { return fields{"spec": fields{key: value}} }
func status(key string, value any) fields   { return fields{"status": fields{key: value}} }

// plainly needs nothing but the request.
func plainly(r Request) Story {
	return func(context.Context, *Scene) Request { return r }
}

// forNode needs the name of a node.
func forNode(where place, build func(node string) Request) Story {
	return func(context.Context, *Scene) Request { return build(where()) }
}

// theNode is a request about a Node.
func theNode(where place, r Request) Story {
	return forNode(where, r.Named)
}

// theirPod is a request about the bystander on a node, or about what is named as it and
// brought to that node by it.
func bystander(where place, r Request) Story {
	return func(context.Context, *Scene) Request { return r.In(stage.Namespace).Named(where.bystander()) }
}

// named is a request about something of the stage's namespace.
func named(name string, r Request) Story {
	return func(context.Context, *Scene) Request { return r.In(stage.Namespace).Named(name) }
}

// here is a request about the whole of the stage's namespace.
func here(r Request) Story {
	return func(context.Context, *Scene) Request { return r.In(stage.Namespace) }
}

// onNode selects what is on a node.
func onNode(where place, r Request) Story {
	return forNode(where, func(node string) Request { return r.Where("spec.nodeName=" + node) })
}

// byName selects the Node of a name.
func byName(where place, r Request) Story {
	return forNode(where, func(node string) Request { return r.Where("metadata.name=" + node) })
}
