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

// place is a node of the scene.
type place func(*framework.Scene) string

func own(s *framework.Scene) string   { return s.Own }
func other(s *framework.Scene) string { return s.Other }

// ask makes a request about an object that a story has created.
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

// plainly is a story that creates no objects.
func plainly(r framework.Request) framework.Story {
	return func(context.Context, *framework.Scene) framework.Request { return r }
}

// forNode is a story that needs the name of a node of the scene, and no objects.
func forNode(where place, build func(node string) framework.Request) framework.Story {
	return func(_ context.Context, s *framework.Scene) framework.Request { return build(where(s)) }
}

// inNamespace creates a namespace and the scene's own Node.
func inNamespace(build func(namespace string) framework.Request) framework.Story {
	return func(ctx context.Context, s *framework.Scene) framework.Request {
		s.Node(ctx, s.Own)
		return build(s.Namespace(ctx))
	}
}

// whenRegistered creates the scene's own Node before the story.
func whenRegistered(story framework.Story) framework.Story {
	return func(ctx context.Context, s *framework.Scene) framework.Request {
		s.Node(ctx, s.Own)
		return story(ctx, s)
	}
}

// used creates an object, and a pod on the given node that uses it.
func used(where place, build func(namespace, name string) k8s.Object, use func(name string) fixtures.PodTweak,
	question ask) framework.Story {
	return func(ctx context.Context, s *framework.Scene) framework.Request {
		object := build(s.Namespace(ctx), s.NewName("object"))
		s.Put(ctx, object)
		s.Pod(ctx, where(s), use(object.GetName()))
		return question(object.GetNamespace(), object.GetName())
	}
}

// unused creates an object that no pod uses.
func unused(build func(namespace, name string) k8s.Object, question ask) framework.Story {
	return func(ctx context.Context, s *framework.Scene) framework.Request {
		s.Node(ctx, s.Own)
		object := build(s.Namespace(ctx), s.NewName("object"))
		s.Put(ctx, object)
		return question(object.GetNamespace(), object.GetName())
	}
}

// podOn creates a pod on a node and makes a request about it.
func podOn(where place, question ask, tweaks ...fixtures.PodTweak) framework.Story {
	return func(ctx context.Context, s *framework.Scene) framework.Request {
		pod := s.Pod(ctx, where(s), tweaks...)
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
