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

var _ = DescribeTable("an agent reads pods:", decide,
	Entry("it gets one on its node", Allows("NS-POD-1"), podOf(agent), bystander(own, Get(api.Pods))),
	Entry("it gets none on another", Denies("NS-POD-1"), podOf(agent), bystander(other, Get(api.Pods)), "[NA-POD-1]"),
	Entry("which the pod of its DaemonSet there gets", Allows("NS-POD-1"), podOf(agent+onOther),
		bystander(other, Get(api.Pods))),
	Entry("which in turn gets none here", Denies("NS-POD-1"), podOf(agent+onOther), bystander(own, Get(api.Pods)),
		"[NA-POD-1]"),

	Entry("it lists those on its node", Allows("NS-POD-1"), podOf(agent), onNode(own, List(api.Pods))),
	Entry("it lists none of another", Denies("NS-POD-1"), podOf(agent), onNode(other, List(api.Pods)), "[NA-POD-2]"),
	Entry("it does not list all", Denies("NS-POD-1"), podOf(agent), plainly(List(api.Pods)), "[NA-POD-2]"),
	Entry("nor all of a namespace", Denies("NS-POD-1"), podOf(agent), inStage(List(api.Pods)), "[NA-POD-2]"),
	Entry("it lists one on its node by name", Allows("NS-POD-1"), podOf(agent), selecting(own, List(api.Pods))),
	Entry("it lists none on another by name", Denies("NS-POD-1"), podOf(agent), selecting(other, List(api.Pods)),
		"[NA-POD-2]"),

	Entry("it watches those on its node", Allows("NS-POD-1"), podOf(agent), onNode(own, Watch(api.Pods))),
	Entry("it watches none of another", Denies("NS-POD-1"), podOf(agent), onNode(other, Watch(api.Pods)), "[NA-POD-2]"),
	Entry("it does not watch all", Denies("NS-POD-1"), podOf(agent), plainly(Watch(api.Pods)), "[NA-POD-2]"),
	Entry("nor by the old path, which has no selectors", Denies("NS-POD-1"), podOf(agent),
		onNode(own, Watch(api.Pods).OnWatchPath()), "[NA-POD-2]"),
)

var _ = DescribeTable("an agent writes pods:", decide,
	Entry("it patches one on its node", Allows("NS-POD-2"), podOf(agent),
		bystander(own, Patch(api.Pods).With(metadata("annotations", fields{"e2e": "seen"})))),
	Entry("it patches none on another", Denies("NS-POD-2"), podOf(agent),
		bystander(other, Patch(api.Pods).With(metadata("annotations", fields{"e2e": "seen"}))), "[NA-POD-1]"),
	Entry("it replaces none, on its own node neither", Denies("NS-POD-2"), podOf(agent), asItIs(own), "[NA-POD-3]"),

	Entry("it deletes one on its node", Allows("NS-POD-3"), podOf(agent), bystander(own, Delete(api.Pods))),
	Entry("it deletes none on another", Denies("NS-POD-3"), podOf(agent), bystander(other, Delete(api.Pods)),
		"[NA-POD-1]"),
	Entry("it does not delete many at once", Denies("NS-POD-3"), podOf(agent), inStage(DeleteAll(api.Pods)), "[NA-POD-3]"),
	Entry("not even those on its node", Denies("NS-POD-3"), podOf(agent),
		forNode(own, func(node string) Request {
			return DeleteAll(api.Pods).In(stage.Namespace).Where("spec.nodeName=" + node)
		}), "[NA-POD-3]"),
	Entry("it evicts one on its node", Allows("NS-POD-3"), podOf(agent), evicted(own)),
	Entry("it evicts none on another", Denies("NS-POD-3"), podOf(agent), evicted(other), "[NA-POD-1]"),
	Entry("it patches the status of one on its node", Allows("NS-POD-3"), podOf(agent),
		bystander(own, Patch(api.Pods).Sub("status").With(wellPatch))),
	Entry("it patches no status on another", Denies("NS-POD-3"), podOf(agent),
		bystander(other, Patch(api.Pods).Sub("status").With(wellPatch)), "[NA-POD-1]"),
	Entry("it creates none", Denies("NS-POD-3"), podOf(agent), RequestFunc(newPod), "creates no pods"),
	Entry("while who is not held does", AllowsBy("NS-POD-3", Behind), podOf(plain), RequestFunc(newPod)),
	Entry("it does not bind one", DeniesBy("NS-POD-3", "NS-SCOPE-1"), podOf(agent), inStage(Create(bindings)),
		"[NA-DEFAULT]"),
)

// A resource in a scope includes its subresources. The exception is the form pods/-.
var _ = DescribeTable("an agent uses subresources of pods:", decide,
	Entry("it reads the log of one on its node", Allows("NS-POD-4"), podOf(agent),
		bystander(own, Get(api.Pods).Sub("log"))),
	Entry("it reads no log on another", Denies("NS-POD-4"), podOf(agent), bystander(other, Get(api.Pods).Sub("log")),
		"[NA-POD-1]"),
	Entry("held on everything, it reads a log on its node", Allows("NS-POD-4"), podOf(fullScope),
		bystander(own, Get(api.Pods).Sub("log"))),
	Entry("held on everything, it reads no log on another", Denies("NS-POD-4"), podOf(fullScope),
		bystander(other, Get(api.Pods).Sub("log")), "[NA-POD-1]"),
	Entry("while who is held on pods alone reads it", Allows("NS-PASS-1"), podOf(alone),
		bystander(other, Get(api.Pods).Sub("log"))),
	Entry("it may have a shell in one on its node", Allows("NS-POD-4"), podOf(agent),
		bystander(own, Ask("create", api.Pods).Sub("exec"))),
	Entry("it gets no shell in one on another", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Create(api.Pods).Sub("exec")), "[NA-POD-1]"),
	Entry("nor by a websocket", Denies("NS-POD-4"), podOf(agent), bystander(other, Get(api.Pods).Sub("exec")),
		"[NA-POD-1]"),
	Entry("it attaches to none on another", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Create(api.Pods).Sub("attach")), "[NA-POD-1]"),
	Entry("it forwards no port of one on another", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Create(api.Pods).Sub("portforward")), "[NA-POD-1]"),
	Entry("it reaches none on another by a proxy", Denies("NS-POD-4"), podOf(agent),
		bystander(other, Get(api.Pods).Sub("proxy")), "[NA-POD-1]"),
	Entry("it adds no container to one on another", Denies("NS-POD-3"), podOf(agent),
		bystander(other, Patch(api.Pods).Sub("ephemeralcontainers").With(fields{})), "[NA-POD-4]"),
	Entry("it evicts none on another by naming pods alone in its scope", Allows("NS-PASS-1"), podOf(alone),
		evicted(other)),
)

func newPod(_ context.Context, e *Env) Request {
	pod := fixtures.Pod(stage.Namespace, e.NewName("pod"), own())
	return Create(api.Pods).In(pod.Namespace).With(pod)
}
