// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// place is a node with a kubelet. Most pods of the stage are on own.
type place func() string

func own() string   { return suite.Worker }
func other() string { return suite.ControlPlane }

// bystander returns the name of the pod on that node that does not belong to an agent.
func (where place) bystander() string {
	if where() == suite.Worker {
		return ofOwnNode
	}
	return ofOtherNode
}

// fields are the body of a merge patch, or a part of one.
type fields = map[string]any

func metadata(key string, value any) fields { return fields{"metadata": fields{key: value}} }
func spec(key string, value any) fields     { return fields{"spec": fields{key: value}} }
func status(key string, value any) fields   { return fields{"status": fields{key: value}} }

// plainly is a request function that makes no objects.
func plainly(r Request) RequestFunc {
	return func(context.Context, *Env) Request { return r }
}

// forNode is a request function that needs the name of a node.
func forNode(where place, build func(node string) Request) RequestFunc {
	return func(context.Context, *Env) Request { return build(where()) }
}

// theNode is a request about a Node.
func theNode(where place, r Request) RequestFunc {
	return forNode(where, r.Named)
}

// bystander is a request about the bystander pod on a node, or about an object of the same name
// that the pod uses.
func bystander(where place, r Request) RequestFunc {
	return func(context.Context, *Env) Request { return r.In(stage.Namespace).Named(where.bystander()) }
}

// named is a request about a named object in the stage's namespace.
func named(name string, r Request) RequestFunc {
	return func(context.Context, *Env) Request { return r.In(stage.Namespace).Named(name) }
}

// inStage is a request about the whole namespace of the stage.
func inStage(r Request) RequestFunc {
	return func(context.Context, *Env) Request { return r.In(stage.Namespace) }
}

// onNode selects the objects on a node.
func onNode(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.Where("spec.nodeName=" + node) })
}

// byName selects a Node by its name.
func byName(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.Where("metadata.name=" + node) })
}
