// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const noLabel = "is not allowed to modify labels"

var _ = tell(Story{
	ID: "T9", Title: "A node labels itself to attract the pods of others",
	Source: "CVE-2023-5408 (OpenShift); KEP-279; design proposal Limiting Node Scope on the Node object",
	Effect: "Pods with secrets select their nodes by labels. The node sets the label on its own Node, and the " +
		"scheduler sends these pods to it. Kubernetes protects only labels below kubernetes.io and k8s.io.",
	Stops: "A node sets only labels that the operator allows: those of the kubelet, in the installation's default.",
	Attempts: []Attempt{
		attracting("the label of control planes", "node-role.kubernetes.io/e2e", "NR-NODE-3", noLabel),
		attracting("a label below node-restriction.kubernetes.io", "node-restriction.kubernetes.io/e2e", "NR-NODE-3",
			noLabel),
		attracting("a label of another domain of Kubernetes", "e2e.k8s.io/dedicated", "NR-NODE-3", noLabel),
		attracting("a label of the operator's own domain", "example.com/dedicated", "NR-LABEL-2", "example.com/dedicated"),
		registering(),
	},
})

// attracting is the attempt to set one label on the attacker's Node.
func attracting(name, key string, rule rules.ID, text string) Attempt {
	return Attempt{
		Name: "setting " + name, Effect: "a pod that selects the label is scheduled to the attacker's node",
		By: machine, Rule: rule, Text: text,
		Prepare: func(ctx context.Context, r *Run) { r.Node = r.Env.Node(ctx, r.Own) },
		Attack:  sends(func(r *Run) Request { return Patch(api.Nodes).Named(r.Own).With(labels(key, r.Own)).Stored() }),
		Show:    func(ctx context.Context, r *Run, _ Answer) { attracts(ctx, r, key) },
		TwinIs:  "the label of the instance type",
		Twin: sends(func(r *Run) Request {
			return Patch(api.Nodes).Named(r.Own).With(labels(corev1.LabelInstanceTypeStable, "big"))
		}),
	}
}

// registering is the attempt to have the label from the beginning.
func registering() Attempt {
	const key = "example.com/dedicated"
	node := func(r *Run, key, value string) *corev1.Node {
		node := fixtures.Node(r.Own)
		node.Labels = map[string]string{key: value}
		return node
	}
	return Attempt{
		Name: "registering with a label of the operator's own domain", By: machine, Rule: "NR-LABEL-1", Text: key,
		Effect:  "a pod that selects the label is scheduled to the attacker's node",
		Prepare: func(ctx context.Context, r *Run) { removedLater(r) },
		Attack:  sends(func(r *Run) Request { return Create(api.Nodes).With(node(r, key, r.Own)).Stored() }),
		Show:    func(ctx context.Context, r *Run, _ Answer) { attracts(ctx, r, key) },
		TwinIs:  "the label of the architecture (as a dry run)",
		Twin: sends(func(r *Run) Request {
			return Create(api.Nodes).With(node(r, corev1.LabelArchStable, "amd64"))
		}),
	}
}

// removedLater deletes the attacker's Node after the spec.
func removedLater(r *Run) {
	DeferCleanup(func(ctx context.Context) error {
		return ignoreNotFound(r.Client.CoreV1().Nodes().Delete(ctx, r.Own, metav1.DeleteOptions{}))
	})
}

// attracts expects that the scheduler sends a pod that selects the label to the attacker's Node. The
// administrator's patch stands for the kubelet, which reports its capacity.
func attracts(ctx context.Context, r *Run, key string) {
	GinkgoHelper()
	patch, err := json.Marshal(fields{"status": fields{"capacity": capacity(), "allocatable": capacity()}})
	Expect(err).NotTo(HaveOccurred())
	_, err = r.Client.CoreV1().Nodes().Patch(ctx, r.Own, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	Expect(err).NotTo(HaveOccurred())
	pod := scheduled(ctx, r, func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{key: r.Own} })
	Expect(pod.Spec.NodeName).To(Equal(r.Own))
}
