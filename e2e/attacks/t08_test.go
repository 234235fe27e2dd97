// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// quarantine is the taint that the administrator set.
const quarantine = "example.com/quarantine"

var _ = tell(Story{
	ID: "T8", Title: "A node has its own Node deleted and registers again without its taint",
	Source: "CVE-2025-5187 (kubernetes/kubernetes#133471); design proposal Limiting Node Scope on the Node object",
	Effect: "A node may not delete its Node or remove a taint. It names an owner that does not exist, the garbage " +
		"collector deletes the Node, and the kubelet registers a new one without the taint and with labels of its choice.",
	Stops: "The owner references of a Node cannot be set or changed by the node.",
	Attempts: []Attempt{{
		Name: "naming an owner that does not exist", Effect: "the Node is deleted, and registers again without the taint",
		By: machine, Rule: "NR-NODE-5", Text: "is not allowed to modify ownerReferences",
		Prepare: quarantined,
		Attack: sends(func(r *Run) Request {
			return Patch(api.Nodes).Named(r.Node.Name).Stored().With(orphaned())
		}),
		Show:   comesBack,
		TwinIs: "the same patch with a label instead of an owner",
		Twin: sends(func(r *Run) Request {
			return Patch(api.Nodes).Named(r.Node.Name).With(labels(corev1.LabelInstanceTypeStable, "big"))
		}),
	}},
})

func orphaned() fields {
	return fields{"metadata": fields{"ownerReferences": []any{
		fields{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "gone"},
	}}}
}

// comesBack waits until the garbage collector has deleted the Node, and registers it without the
// administrator's taint.
func comesBack(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	gone(ctx, r, r.Node.DeepCopy())
	again := fixtures.Node(r.Own)
	again.Labels = map[string]string{FakeNodeLabel: "true"}
	answer := r.Send(ctx, r.Who, Create(api.Nodes).With(again).Stored())
	Expect(answer.Code).To(Equal(http.StatusCreated), answer.Message)
	got, err := r.Client.CoreV1().Nodes().Get(ctx, r.Own, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(got.UID).NotTo(Equal(r.Node.UID))
	Expect(got.Spec.Taints).NotTo(ContainElement(HaveField("Key", quarantine)))
	r.Say("The new Node has no taint %s.", quarantine)
}

// quarantined creates the attacker's Node with a taint of the administrator.
func quarantined(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Node = r.Env.Node(ctx, r.Own)
	_, err := r.Client.CoreV1().Nodes().Patch(ctx, r.Own, types.MergePatchType,
		[]byte(`{"spec":{"taints":[{"key":"`+quarantine+`","effect":"NoSchedule"}]}}`), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}
