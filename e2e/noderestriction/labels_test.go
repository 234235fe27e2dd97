// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	zone        = corev1.LabelTopologyZone
	csiTopology = "topology.e2e.bulkhead.dev/zone"
	// oldZone is the label that a real kubelet must not change: see [notOnList].
	oldZone = corev1.LabelFailureDomainBetaZone

	notThisHostname = "is not allowed to set the label kubernetes.io/hostname"
	setOnce         = "is not allowed to change or remove labels that its Node has"
)

// relabel patches one label; nil removes it.
func relabel(key string, value any) Request {
	return Patch(api.Nodes).With(metadata("labels", fields{key: value}))
}

// labelledNode sets labels on the Env's own Node as the administrator, before the request.
func labelledNode(r Request, labels ...string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		for i := 0; i < len(labels); i += 2 {
			setLabel(ctx, e.Own, labels[i], labels[i+1])
		}
		return r.Named(e.Own)
	}
}

// setLabel patches a label as the administrator. An empty value removes the label.
func setLabel(ctx context.Context, node, key, value string) {
	GinkgoHelper()
	text := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	if value == "" {
		text = fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key)
	}
	_, err := suite.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func withLabels(labels map[string]string) func(*Env, *corev1.Node) {
	return func(_ *Env, node *corev1.Node) { node.Labels = maps.Clone(labels) }
}

// registeringAgain registers the Env's own node after its Node with labels was deleted.
func registeringAgain(had map[string]string, makeRequest RequestFunc) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		before := e.Node(ctx, e.Own)
		for key, value := range had {
			setLabel(ctx, e.Own, key, value)
		}
		e.Remove(ctx, before)
		return makeRequest(ctx, e)
	}
}

// onceRemembered waits until node-restriction remembers the deleted Node. It sees Nodes in a watch.
func onceRemembered(makeRequest RequestFunc) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		request := makeRequest(ctx, e)
		awaitView(ctx, e, request, func(_ int, text string) bool { return !strings.Contains(text, "[NR-LABEL-3]") })
		return request
	}
}

var _ = DescribeTable("the label kubernetes.io/hostname", admit,
	Entry("is the node's name when it registers", Allows("NR-LABEL-3"), registering(func(e *Env, node *corev1.Node) {
		node.Labels = map[string]string{corev1.LabelHostname: e.Own}
	})),
	Entry("is another node's name when it registers: denied", DeniesBeyond("NR-LABEL-3", Behind),
		registering(func(e *Env, node *corev1.Node) {
			node.Labels = map[string]string{corev1.LabelHostname: e.Other}
		}), notThisHostname),
	Entry("is what it was when the node registers again", Allows("NR-LABEL-3"),
		onceRemembered(registeringAgain(map[string]string{corev1.LabelHostname: "e2e-before"},
			registering(withLabels(map[string]string{corev1.LabelHostname: "e2e-before"}))))),
	Entry("is another one when the node registers again: denied", DeniesBeyond("NR-LABEL-3", Behind),
		registeringAgain(map[string]string{corev1.LabelHostname: "e2e-before"},
			registering(withLabels(map[string]string{corev1.LabelHostname: "e2e-after"}))), notThisHostname),
)

var _ = DescribeTable("a label of a Node", admit,
	Entry("is set by the node where it is absent", Allows("NR-LABEL-4"), labelledNode(relabel(zone, "a"))),
	Entry("is changed by the node: denied", DeniesBeyond("NR-LABEL-4", Behind),
		labelledNode(relabel(zone, "b"), zone, "a"), setOnce),
	Entry("is removed by the node: denied", DeniesBeyond("NR-LABEL-4", Behind),
		labelledNode(relabel(zone, nil), zone, "a"), setOnce),
	Entry("is changed by the node through the status: denied", DeniesBeyond("NR-LABEL-4", Behind),
		labelledNode(relabel(zone, "b").Sub("status"), zone, "a"), setOnce),
	Entry("of a CSI driver is set by the node where it is absent", Allows("NR-LABEL-4"),
		labelledNode(relabel(csiTopology, "a"))),
	Entry("of a CSI driver is changed by the node: denied", DeniesBeyond("NR-LABEL-4", Behind),
		labelledNode(relabel(csiTopology, "b"), csiTopology, "a"), setOnce),
	Entry("is changed by the node that registers again", Allows("NR-LABEL-4"),
		registeringAgain(map[string]string{zone: "a"}, registering(withLabels(map[string]string{zone: "b"})))),
)

// architecture sets the reported architecture and the label of the Env's own Node as the
// administrator. The node then sets both in one request.
func architecture(had, label, reports, sets string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		patchStatus(ctx, e.Own, fields{"nodeInfo": fields{"architecture": had}})
		setLabel(ctx, e.Own, corev1.LabelArchStable, label)
		both := metadata("labels", fields{corev1.LabelArchStable: sets})
		both["status"] = fields{"nodeInfo": fields{"architecture": reports}}
		return Patch(api.Nodes).Sub("status").Named(e.Own).With(both)
	}
}

var _ = DescribeTable("the architecture of a Node", admitCertified,
	Entry("label as the Node reported before: allowed", Allows("NR-LABEL-4"),
		architecture("amd64", "e2e", "amd64", "amd64")),
	Entry("label as the Node reports from this request on: denied", DeniesBeyond("NR-LABEL-4", Behind),
		architecture("", "amd64", "e2e", "e2e"), setOnce),
	Entry("another one than the Node reported before: denied", DeniesBeyond("NR-LABEL-4", Behind),
		architecture("amd64", "e2e", "e2e", "e2e"), "that its Node reports"),
)

var _ = DescribeTable("the worker's kubelet that labels its Node", Label(OnHost, OnWorker), asWorkersKubelet,
	Entry("with its own host name", Allows("NR-LABEL-3"), func(context.Context, *Env) Request {
		return relabel(corev1.LabelHostname, suite.Worker).Named(suite.Worker)
	}),
	Entry("with the host name of the control plane: denied", DeniesBeyond("NR-LABEL-3", Behind),
		func(context.Context, *Env) Request {
			return relabel(corev1.LabelHostname, suite.ControlPlane).Named(suite.Worker)
		}, notThisHostname),
	Entry("with no host name: denied", DeniesBeyond("NR-LABEL-3", Behind), itself(relabel(corev1.LabelHostname, nil)),
		notThisHostname),
	Entry("with a zone, once", Allows("NR-LABEL-4"), itself(relabel(zone, "a"))),
	Entry("with another architecture: denied", DeniesBeyond("NR-LABEL-4", Behind),
		itself(relabel(corev1.LabelArchStable, "e2e")), setOnce),
	Entry("with another operating system: denied", DeniesBeyond("NR-LABEL-4", Behind),
		itself(relabel(corev1.LabelOSStable, "e2e").Sub("status")), setOnce),
	Entry("without the operating system: denied", DeniesBeyond("NR-LABEL-4", Behind),
		itself(relabel("beta.kubernetes.io/os", nil)), setOnce),
	Entry("after it reports another architecture: denied", DeniesBeyond("NR-LABEL-4", Behind),
		itself(Patch(api.Nodes).Sub("status").With(status("nodeInfo", fields{"architecture": "e2e"}))),
		"that its Node reports"),
)

// changing is narrow with labels that nodes may set. Nodes may change some of them.
var changing = strings.Replace(narrow, "allowedLabels: []",
	"allowedLabels: [\"topology.*\"]\nchangeableLabels: [\"topology.e2e.bulkhead.dev/*\"]", 1)

var _ = Describe("the operator's configuration of labels", Serial, Ordered, Label(Disruptive, OnHost, OnHardened),
	func() {
		BeforeAll(func(ctx SpecContext) { suite.Configure(ctx, changing) })

		DescribeTable("for changes:", admit,
			Entry("change of a listed label: admitted", Allows("NR-LABEL-4"),
				labelledNode(relabel(csiTopology, "b"), csiTopology, "a")),
			Entry("removal of a listed label: admitted", Allows("NR-LABEL-4"),
				labelledNode(relabel(csiTopology, nil), csiTopology, "a")),
			Entry("change of another driver's label: denied", Denies("NR-LABEL-4"),
				labelledNode(relabel("topology.e2e.example/zone", "b"), "topology.e2e.example/zone", "a"), setOnce),
			Entry("change of the zone: denied", Denies("NR-LABEL-4"), labelledNode(relabel(zone, "b"), zone, "a"), setOnce),
		)
	})
