// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	"github.com/onsi/gomega"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// place is a node of the Env.
type place func(*framework.Env) string

func own(e *framework.Env) string   { return e.Own }
func other(e *framework.Env) string { return e.Other }

// ask makes a request about an object that a request function has created.
type ask func(namespace, name string) framework.Request

// named requests the object by its name.
func named(r framework.Request) ask {
	return func(namespace, name string) framework.Request { return r.In(namespace).Named(name) }
}

// selected requests the object with a field selector for its name.
func selected(r framework.Request) ask {
	return func(namespace, name string) framework.Request {
		return r.In(namespace).Where("metadata.name=" + name)
	}
}

// unselected requests all objects in the object's namespace.
func unselected(r framework.Request) ask {
	return func(namespace, _ string) framework.Request { return r.In(namespace) }
}

// clusterWide requests the objects in all namespaces.
func clusterWide(r framework.Request) ask {
	return func(string, string) framework.Request { return r }
}

// plainly is a request function that creates no objects.
func plainly(r framework.Request) framework.RequestFunc {
	return func(context.Context, *framework.Env) framework.Request { return r }
}

// forNode is a request function that needs the name of a node of the Env, and no objects.
func forNode(where place, build func(node string) framework.Request) framework.RequestFunc {
	return func(_ context.Context, e *framework.Env) framework.Request { return build(where(e)) }
}

// inNamespace creates a namespace and the Env's own Node.
func inNamespace(build func(namespace string) framework.Request) framework.RequestFunc {
	return func(ctx context.Context, e *framework.Env) framework.Request {
		e.Node(ctx, e.Own)
		return build(e.Namespace(ctx))
	}
}

// whenRegistered creates the Env's own Node before the request function.
func whenRegistered(makeRequest framework.RequestFunc) framework.RequestFunc {
	return func(ctx context.Context, e *framework.Env) framework.Request {
		e.Node(ctx, e.Own)
		return makeRequest(ctx, e)
	}
}

// used creates an object, and a pod on the given node that uses it.
func used(where place, build func(namespace, name string) k8s.Object, use func(name string) fixtures.PodTweak,
	question ask) framework.RequestFunc {
	return func(ctx context.Context, e *framework.Env) framework.Request {
		object := build(e.Namespace(ctx), e.NewName("object"))
		e.Put(ctx, object)
		e.Pod(ctx, where(e), use(object.GetName()))
		return question(object.GetNamespace(), object.GetName())
	}
}

// unused creates an object that no pod uses.
func unused(build func(namespace, name string) k8s.Object, question ask) framework.RequestFunc {
	return func(ctx context.Context, e *framework.Env) framework.Request {
		e.Node(ctx, e.Own)
		object := build(e.Namespace(ctx), e.NewName("object"))
		e.Put(ctx, object)
		return question(object.GetNamespace(), object.GetName())
	}
}

// podOn creates a pod on a node and makes a request about it.
func podOn(where place, question ask, tweaks ...fixtures.PodTweak) framework.RequestFunc {
	return func(ctx context.Context, e *framework.Env) framework.Request {
		pod := e.Pod(ctx, where(e), tweaks...)
		return question(pod.Namespace, pod.Name)
	}
}

// must returns the value. It fails the spec on an error that only a mistake in the spec could
// cause.
func must[T any](value T, err error) T {
	gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred())
	return value
}

// Upstream's reasons that several groups of rules use.
const (
	unrelated       = "no relationship found between node"
	noName          = "No Object name found"
	onlyReads       = "can only read resources of this type"
	noSubresource   = "cannot read subresource"
	onlyNamespaced  = "can only read namespaced object of this type"
	onlyIndividuals = "can only get individual resources of this type"
	noGetOfSub      = "cannot get subresource"
)
