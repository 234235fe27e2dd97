// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// machineOf is the machine's name as a node name.
func machineOf(m *NewMachine) func(context.Context, *Scene) string {
	return func(context.Context, *Scene) string { return m.Name }
}

var _ = Describe("a machine that joins with kubeadm", Serial, Label(Disruptive, Slow, OnHost, OnWorker, OnHardened), func() {
	BeforeEach(func(ctx SpecContext) { TakeMachine(ctx) })

	It("becomes a new worker, and joins again after its Node was deleted", Allows("NR-BOOT-3"), func(ctx SpecContext) {
		scene := suite.Scene()
		machine, token := scene.NewMachine(ctx, MachineName()), scene.BootstrapToken(ctx)
		before := machine.Join(ctx, token)

		By("losing its credential: the token does not replace it while the Node exists")
		machine.Run(ctx, "kubeadm reset --force 2>&1")
		machine.Run(ctx, "test ! -e /etc/kubernetes/kubelet.conf")
		again := joining(client, machineOf(machine))(ctx, scene)
		suite.ExpectRefusedWrite(ctx, suite.AsBearer(token), again, Refusal{By: "NR-BOOT-3", Text: "an administrator deletes the Node first"})

		By("deleting its Node")
		Expect(suite.Client.CoreV1().Nodes().Delete(ctx, machine.Name, metav1.DeleteOptions{})).To(Succeed())
		after := machine.Join(ctx, token)
		Expect(after.UID).NotTo(Equal(before.UID))
	})

	It("becomes a new control-plane node", Allows("NR-BOOT-3"), func(ctx SpecContext) {
		scene := suite.Scene()
		machine, token := scene.NewMachine(ctx, MachineName()), scene.BootstrapToken(ctx)
		node := machine.JoinControlPlane(ctx, token)
		Expect(node.Labels).To(HaveKey("node-role.kubernetes.io/control-plane"))
		suite.ExpectRefusedWrite(ctx, suite.AsBearer(token), joining(client, machineOf(machine))(ctx, scene),
			Refusal{By: "NR-BOOT-3", Text: "exists: its kubelet renews"})
	})
})
