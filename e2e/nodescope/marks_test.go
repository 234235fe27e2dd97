// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// marked sets or removes an annotation.
func marked(key string, value any) fields { return metadata("annotations", fields{key: value}) }

const unmarked = "e2e.bulkhead.dev/any"

// RBAC allows statuses to write accounts and pods, and its scope covers only the status of Nodes.
// It still may not change the annotations that define a scope.
var _ = DescribeTable("an account with a scope that writes service accounts", admit,
	Entry("writes other annotations", Allows("NS-WRITE-1"), podOf(statuses),
		named(statuses, Patch(api.ServiceAccounts).With(marked(unmarked, "x")))),
	Entry("does not widen its own scope", Denies("NS-WRITE-1"), podOf(statuses),
		named(statuses, Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, "configmaps")))),
	Entry("does not remove its own scope", Denies("NS-WRITE-1"), podOf(statuses),
		named(statuses, Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, nil)))),
	Entry("does not exempt itself", Denies("NS-WRITE-1"), podOf(statuses),
		named(statuses, Patch(api.ServiceAccounts).With(marked(nodescope.ExemptionsAnnotation, string(nodescope.Taints))))),
	Entry("does not put itself in audit", Denies("NS-WRITE-1"), podOf(statuses),
		named(statuses, Patch(api.ServiceAccounts).With(marked(modeAnnotation, "audit")))),
	Entry("does not add a scope to another account", Denies("NS-WRITE-1"), podOf(statuses),
		named(plain, Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, "*")))),
	Entry("does not remove the scope of another account", Denies("NS-WRITE-1"), podOf(statuses),
		named(agent, Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, nil)))),
	Entry("does not create an account with a scope", Denies("NS-WRITE-1"), podOf(statuses), newAccount(scope("pods"))),
	Entry("creates an account without a scope", Allows("NS-WRITE-1"), podOf(statuses), newAccount(nil)),
	Entry("does not delete an account with a scope", Denies("NS-WRITE-1"), podOf(statuses),
		named(agent, Delete(api.ServiceAccounts))),
	Entry("deletes an account without a scope", Allows("NS-WRITE-1"), podOf(statuses),
		named(plain, Delete(api.ServiceAccounts))),
	Entry("an account without a scope changes any scope", Allows("NS-WRITE-1"), podOf(plain),
		named(agent, Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, nil)))),
)

var _ = DescribeTable("an account with a scope that writes pods", admit,
	Entry("writes other annotations", Allows("NS-WRITE-2"), podOf(statuses),
		named(shared, Patch(api.Pods).With(marked(unmarked, "x")))),
	Entry("does not add a scope to a pod", Denies("NS-WRITE-2"), podOf(statuses),
		named(shared, Patch(api.Pods).With(marked(nodescope.ScopeAnnotation, "*")))),
	Entry("does not remove the scope of a pod", Denies("NS-WRITE-2"), podOf(statuses),
		named(shared+"-"+narrow, Patch(api.Pods).With(marked(nodescope.ScopeAnnotation, nil)))),
	Entry("with pods in its scope: does not add a scope to a pod on its node", Denies("NS-WRITE-2"), podOf(agent),
		bystander(own, Patch(api.Pods).With(marked(nodescope.ScopeAnnotation, "pods")))),
	Entry("with pods in its scope: does not add a scope to a pod through the status", Denies("NS-WRITE-2"), podOf(agent),
		bystander(own, Patch(api.Pods).Sub("status").With(marked(nodescope.ScopeAnnotation, "pods")))),
	Entry("with a scope from the pod's annotation: does not remove it", Denies("NS-WRITE-2"), podOf(shared+"-"+narrow),
		named(shared+"-"+narrow, Patch(api.Pods).With(marked(nodescope.ScopeAnnotation, nil)))),
	Entry("does not create a pod with a scope", Denies("NS-WRITE-2"), podOf(statuses), podWith(noted("pods"))),
	Entry("creates a pod without a scope", Allows("NS-WRITE-2"), podOf(statuses), podWith(func(*corev1.Pod) {})),
)

func newAccount(annotations map[string]string) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		account := fixtures.ServiceAccount(stage.Namespace, e.NewName("account"))
		account.Annotations = annotations
		return Create(api.ServiceAccounts).In(account.Namespace).With(account)
	}
}

func podWith(tweak fixtures.PodTweak) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		pod := fixtures.Pod(stage.Namespace, e.NewName("pod"), own(), tweak)
		return Create(api.Pods).In(pod.Namespace).With(pod)
	}
}

// mirrorPod creates a mirror pod of the Env's own node.
func mirrorPod(tweaks ...fixtures.PodTweak) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		all := append([]fixtures.PodTweak{fixtures.Mirror(e.Node(ctx, e.Own))}, tweaks...)
		pod := fixtures.Pod(e.Namespace(ctx), e.NewName("mirror"), e.Own, all...)
		return Create(api.Pods).In(pod.Namespace).With(pod)
	}
}

func alsoNoted(pod *corev1.Pod) { pod.Annotations[nodescope.ScopeAnnotation] = "pods" }

// envNode returns the Env's own node, which has no kubelet.
func envNode() *Identity { return suite.AsNode(suite.Env().Own) }

// statusOfOwn patches the status of a pod on the Env's own node.
func statusOfOwn(patch fields) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, e.Own)
		return Patch(api.Pods).In(pod.Namespace).Named(pod.Name).Sub("status").With(patch)
	}
}

var _ = DescribeTable("a node and the annotation of node scope", admit,
	Entry("creates a mirror pod without a scope", Allows("NS-WRITE-4"), actor(envNode), mirrorPod()),
	Entry("does not create a pod with a scope", Denies("NS-WRITE-4"), actor(envNode), mirrorPod(alsoNoted)),
	Entry("patches the status of its pod", Allows("NS-WRITE-4"), actor(envNode), statusOfOwn(wellPatch)),
	Entry("does not add a scope through the status of its pod", Denies("NS-WRITE-4"), actor(envNode),
		statusOfOwn(marked(nodescope.ScopeAnnotation, "pods"))),
)
