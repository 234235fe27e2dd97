// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// evicted evicts the bystander on a node.
func evicted(where place) RequestFunc {
	return func(context.Context, *Env) Request {
		name := where.bystander()
		return Create(api.Pods).In(stage.Namespace).Named(name).Sub("eviction").With(fixtures.Eviction(stage.Namespace, name))
	}
}

// asItIs updates the bystander on a node without a change.
func asItIs(where place) RequestFunc {
	return func(ctx context.Context, _ *Env) Request {
		pod := must(suite.Client.CoreV1().Pods(stage.Namespace).Get(ctx, where.bystander(), metav1.GetOptions{}))
		return Update(api.Pods).In(stage.Namespace).Named(pod.Name).With(pod)
	}
}

// selecting selects the bystander on a node by its name.
func selecting(where place, r Request) RequestFunc {
	return func(context.Context, *Env) Request {
		return r.In(stage.Namespace).Where("metadata.name=" + where.bystander())
	}
}

// bindings is the other resource that binds a pod, besides pods/binding.
var bindings = corev1.SchemeGroupVersion.WithResource("bindings")

var wellPatch = status("message", "well")

var _ = DescribeTable("an account with a scope reads pods:", decide,
	Entry("gets a pod on its node", Allows("NS-POD-1"), podOf(agent), bystander(own, Get(api.Pods))),
	Entry("does not get a pod on another node", Denies("NS-POD-1"), podOf(agent), bystander(other, Get(api.Pods)),
		"[NA-POD-1]"),
	Entry("the pod of its DaemonSet on the other node gets that pod", Allows("NS-POD-1"), podOf(agent+onOther),
		bystander(other, Get(api.Pods))),
	Entry("the pod of its DaemonSet on the other node does not get a pod on this node", Denies("NS-POD-1"),
		podOf(agent+onOther), bystander(own, Get(api.Pods)),
		"[NA-POD-1]"),

	Entry("lists the pods on its node", Allows("NS-POD-1"), podOf(agent), onNode(own, List(api.Pods))),
	Entry("does not list the pods on another node", Denies("NS-POD-1"), podOf(agent), onNode(other, List(api.Pods)),
		"[NA-POD-2]"),
	Entry("does not list all pods", Denies("NS-POD-1"), podOf(agent), plainly(List(api.Pods)), "[NA-POD-2]"),
	Entry("does not list all pods of a namespace", Denies("NS-POD-1"), podOf(agent), inStage(List(api.Pods)),
		"[NA-POD-2]"),
	Entry("lists a pod on its node by name", Allows("NS-POD-1"), podOf(agent), selecting(own, List(api.Pods))),
	Entry("does not list a pod on another node by name", Denies("NS-POD-1"), podOf(agent),
		selecting(other, List(api.Pods)),
		"[NA-POD-2]"),

	Entry("watches the pods on its node", Allows("NS-POD-1"), podOf(agent), onNode(own, Watch(api.Pods))),
	Entry("does not watch the pods on another node", Denies("NS-POD-1"), podOf(agent), onNode(other, Watch(api.Pods)),
		"[NA-POD-2]"),
	Entry("does not watch all pods", Denies("NS-POD-1"), podOf(agent), plainly(Watch(api.Pods)), "[NA-POD-2]"),
	Entry("does not watch the old watch path, which has no selectors", Denies("NS-POD-1"), podOf(agent),
		onNode(own, Watch(api.Pods).OnWatchPath()), "[NA-POD-2]"),
)

var _ = DescribeTable("an account with a scope writes pods:", decide,
	Entry("patches a pod on its node", Allows("NS-POD-2"), podOf(agent),
		bystander(own, Patch(api.Pods).With(metadata("annotations", fields{"e2e": "seen"})))),
	Entry("does not patch a pod on another node", Denies("NS-POD-2"), podOf(agent),
		bystander(other, Patch(api.Pods).With(metadata("annotations", fields{"e2e": "seen"}))), "[NA-POD-1]"),
	Entry("does not update a pod, not even on its node", Denies("NS-POD-2"), podOf(agent), asItIs(own), "[NA-POD-3]"),

	Entry("deletes a pod on its node", Allows("NS-POD-3"), podOf(agent), bystander(own, Delete(api.Pods))),
	Entry("does not delete a pod on another node", Denies("NS-POD-3"), podOf(agent), bystander(other, Delete(api.Pods)),
		"[NA-POD-1]"),
	Entry("does not delete all pods of a namespace", Denies("NS-POD-3"), podOf(agent), inStage(DeleteAll(api.Pods)),
		"[NA-POD-3]"),
	Entry("does not delete all pods on its node in one request", Denies("NS-POD-3"), podOf(agent),
		forNode(own, func(node string) Request {
			return DeleteAll(api.Pods).In(stage.Namespace).Where("spec.nodeName=" + node)
		}), "[NA-POD-3]"),
	Entry("evicts a pod on its node", Allows("NS-POD-3"), podOf(agent), evicted(own)),
	Entry("does not evict a pod on another node", Denies("NS-POD-3"), podOf(agent), evicted(other), "[NA-POD-1]"),
	Entry("patches the status of a pod on its node", Allows("NS-POD-3"), podOf(agent),
		bystander(own, Patch(api.Pods).Sub("status").With(wellPatch))),
	Entry("does not patch the status of a pod on another node", Denies("NS-POD-3"), podOf(agent),
		bystander(other, Patch(api.Pods).Sub("status").With(wellPatch)), "[NA-POD-1]"),
	Entry("does not create a pod", Denies("NS-POD-3"), podOf(agent), RequestFunc(newPod), "creates no pods"),
	Entry("an account without a scope creates a pod", AllowsBy("NS-POD-3", Behind), podOf(plain), RequestFunc(newPod)),
	Entry("does not bind a pod", DeniesBy("NS-POD-3", "NS-SCOPE-1"), podOf(agent), inStage(Create(bindings)),
		"[NA-DEFAULT]"),
)

// A resource in a scope includes its subresources. The exception is the form pods/-.
var _ = DescribeTable("an account with a scope uses subresources of pods:", decide,
	Entry("reads the log of a pod on its node", Allows("NS-POD-4"), podOf(agent),
		bystander(own, Get(api.Pods).Sub("log"))),
	Entry("does not read the log of a pod on another node", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Get(api.Pods).Sub("log")),
		"[NA-POD-1]"),
	Entry("with a scope of all resources: reads the log of a pod on its node", Allows("NS-POD-4"), podOf(fullScope),
		bystander(own, Get(api.Pods).Sub("log"))),
	Entry("with a scope of all resources: does not read the log of a pod on another node", Denies("NS-POD-4"),
		podOf(fullScope),
		bystander(other, Get(api.Pods).Sub("log")), "[NA-POD-1]"),
	Entry("with a scope of pods without subresources: reads the log of a pod on another node", Allows("NS-PASS-1"),
		podOf(alone),
		bystander(other, Get(api.Pods).Sub("log"))),
	Entry("may exec into a pod on its node", Allows("NS-POD-4"), podOf(agent),
		bystander(own, Ask("create", api.Pods).Sub("exec"))),
	Entry("may not exec into a pod on another node", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Create(api.Pods).Sub("exec")), "[NA-POD-1]"),
	Entry("may not exec into a pod on another node by WebSocket", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Get(api.Pods).Sub("exec")),
		"[NA-POD-1]"),
	Entry("does not attach to a pod on another node", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Create(api.Pods).Sub("attach")), "[NA-POD-1]"),
	Entry("does not forward a port of a pod on another node", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Create(api.Pods).Sub("portforward")), "[NA-POD-1]"),
	Entry("does not use the proxy to a pod on another node", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Get(api.Pods).Sub("proxy")), "[NA-POD-1]"),
	Entry("does not add a container to a pod on another node", Denies("NS-POD-3"), podOf(agent),
		bystander(other, Patch(api.Pods).Sub("ephemeralcontainers").With(fields{})), "[NA-POD-4]"),
	Entry("with a scope of pods without subresources: evicts a pod on another node", Allows("NS-PASS-1"), podOf(alone),
		evicted(other)),
)

func newPod(_ context.Context, e *Env) Request {
	pod := fixtures.Pod(stage.Namespace, e.NewName("pod"), own())
	return Create(api.Pods).In(pod.Namespace).With(pod)
}
