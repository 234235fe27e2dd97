// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var endpointSlices = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")

// taintedByUpdate taints a Node as a termination handler does: it reads the Node and updates it.
func taintedByUpdate(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		request := replaced(where)(ctx, e)
		node, _ := request.Body.(*corev1.Node)
		node.Spec.Taints = append(node.Spec.Taints,
			corev1.Taint{Key: "e2e.bulkhead.dev/terminating", Effect: corev1.TaintEffectNoSchedule})
		return request.With(node)
	}
}

// nodeEventFrom creates an event about a Node, as its agent does.
func nodeEventFrom(about place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		node := must(suite.Client.CoreV1().Nodes().Get(ctx, about(), metav1.GetOptions{}))
		return Create(api.Events).In(metav1.NamespaceDefault).With(fixtures.EventAboutNode(node, e.NewName("event"), own()))
	}
}

// useCases are the use cases of the project and similar ones. The example of each has its rights
// and its scope.
var useCases = []useCase{
	{
		name: "node-problem-detector",
		works: []step{
			{what: "reads its Node", by: "NS-NODE-1", request: theNode(own, Get(api.Nodes))},
			{what: "reports a condition", by: "NS-NODE-2", request: theNode(own, Patch(api.Nodes).Sub("status").With(unwell))},
			{what: "creates an event about its Node", by: "NS-SCOPE-1", request: nodeEventFrom(own)},
		},
		refused: []step{
			{what: "another Node", by: "NS-NODE-1", request: theNode(other, Get(api.Nodes)), text: "[NA-NODE-1]"},
			{what: "a condition of another Node", by: "NS-NODE-2", request: theNode(other,
				Patch(api.Nodes).Sub("status").With(unwell)),
				text: "only of its own node"},
			{what: "an event about another Node", by: "NS-ADMIT-1", request: nodeEventFrom(other), text: "[NR-EVENT-2]",
				atAdmission:  true,
				onlyHardened: true},
		},
	},
	{
		name: "node-termination-handler",
		works: []step{
			{what: "taints its Node", by: "NS-NODE-2", request: taintedByUpdate(own)},
			{what: "lists its node's pods", by: "NS-POD-1", request: onNode(own, List(api.Pods))},
			{what: "deletes a pod on its node", by: "NS-POD-3", request: bystander(own, Delete(api.Pods))},
		},
		refused: []step{
			{what: "the taints of another Node", by: "NS-NODE-2", request: taintedByUpdate(other), text: "only of its own node"},
			{what: "the pods of another node", by: "NS-POD-1", request: onNode(other, List(api.Pods)), text: "[NA-POD-2]"},
			{what: "the deletion of a pod on another node", by: "NS-POD-3", request: bystander(other, Delete(api.Pods)),
				text: "[NA-POD-1]"},
		},
	},
	{
		name: "kube-proxy",
		works: []step{
			{what: "watches its Node", by: "NS-NODE-1", request: byName(own, Watch(api.Nodes))},
			{what: "lists all services", by: "NS-PASS-1", request: plainly(List(api.Services))},
			{what: "watches all EndpointSlices", by: "NS-PASS-1", request: plainly(Watch(endpointSlices))},
		},
		refused: []step{
			{what: "another Node", by: "NS-NODE-1", request: byName(other, Watch(api.Nodes)), text: "[NA-NODE-1]"},
			{what: "all Nodes", by: "NS-NODE-1", request: plainly(List(api.Nodes)), text: "[NA-NODE-1]"},
		},
	},
	{
		name: "network-agent",
		works: []step{
			{what: "watches its node's pods", by: "NS-POD-1", request: onNode(own, Watch(api.Pods))},
			{what: "annotates a pod on its node", by: "NS-POD-2",
				request: bystander(own, Patch(api.Pods).With(metadata("annotations", fields{"e2e": "10.0.0.1"})))},
			{what: "patches its Node", by: "NS-NODE-2", request: theNode(own, Patch(api.Nodes))},
		},
		refused: []step{
			{what: "a pod on another node", by: "NS-POD-2",
				request: bystander(other, Patch(api.Pods).With(metadata("annotations", fields{"e2e": "10.0.0.1"}))),
				text:    "[NA-POD-1]"},
			{what: "another Node", by: "NS-NODE-2", request: theNode(other, Patch(api.Nodes)), text: "only of its own node"},
			{what: "the watch of all pods", by: "NS-POD-1", request: plainly(Watch(api.Pods)), text: "[NA-POD-2]"},
			{what: "a label of a pod that a Service may select", by: "NS-ADMIT-3", atAdmission: true,
				request: bystander(own, Patch(api.Pods).With(metadata("labels", fields{"app": "payments"})))},
		},
	},
	{
		name: "csi-node-plugin",
		works: []step{
			{what: "reads its CSINode", by: "NS-SCOPE-1", request: forNode(own, Get(api.CSINodes).OrMissing().Named)},
			{what: "reads a secret of its node's pods", by: "NS-SCOPE-1", request: bystander(own, Get(api.Secrets))},
		},
		refused: []step{
			{what: "another CSINode", by: "NS-SCOPE-1", request: forNode(other, Get(api.CSINodes).OrMissing().Named),
				text: "[NA-CSINODE-2]"},
			{what: "a secret of another node's pods", by: "NS-SCOPE-1", request: bystander(other, Get(api.Secrets)),
				text: "[NA-SECRET-1]"},
			{what: "all volume attachments", by: "NS-SCOPE-1", request: plainly(List(api.VolumeAttachments)), text: "[NA-VA-1]"},
		},
	},
	{
		name: "volume-provisioner",
		works: []step{
			{what: "reads its Node", by: "NS-NODE-1", request: theNode(own, Get(api.Nodes))},
			{what: "watches storage classes", by: "NS-PASS-1", request: plainly(Watch(storageClasses))},
			{what: "lists volumes", by: "NS-PASS-1", request: plainly(List(api.PersistentVolumes))},
		},
		refused: []step{{what: "another Node", by: "NS-NODE-1", request: theNode(other, Get(api.Nodes)),
			text: "[NA-NODE-1]"}},
	},
	{
		name: "log-collector",
		works: []step{
			{what: "lists its node's pods", by: "NS-POD-1", request: onNode(own, List(api.Pods))},
			{what: "watches its node's pods", by: "NS-POD-1", request: onNode(own, Watch(api.Pods))},
			{what: "lists services", by: "NS-PASS-1", request: plainly(List(api.Services))},
		},
		refused: []step{
			{what: "another node's pods", by: "NS-POD-1", request: onNode(other, List(api.Pods)), text: "[NA-POD-2]"},
			{what: "all pods", by: "NS-POD-1", request: plainly(List(api.Pods)), text: "[NA-POD-2]"},
			{what: "another Node", by: "NS-NODE-1", request: theNode(other, Get(api.Nodes)), text: "[NA-NODE-1]"},
		},
	},
	{
		// credentials_test.go covers its requests at the kubelets' ports.
		name: "metrics-scraper",
		works: []step{
			{what: "reads its Node", by: "NS-NODE-1", request: theNode(own, Get(api.Nodes))},
			{what: "reads its kubelet's metrics", by: "NS-NODE-3", request: theNode(own, Ask("get", api.Nodes).Sub("metrics"))},
			{what: "reads its kubelet's statistics", by: "NS-NODE-3", request: theNode(own, Ask("get", api.Nodes).Sub("stats"))},
		},
		refused: []step{
			{what: "another kubelet's metrics", by: "NS-NODE-3", request: theNode(other, Ask("get", api.Nodes).Sub("metrics")),
				text: "only of its own node"},
			{what: "another kubelet's statistics", by: "NS-NODE-3", request: theNode(other, Ask("get", api.Nodes).Sub("stats")),
				text: "only of its own node"},
		},
	},
}
