// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"encoding/base64"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// changeable has only the list of taints that a node may change.
	changeable = `apiVersion: noderestriction.admission.k8s.io/v1
kind: Configuration
changeableTaints: ["e2e.bulkhead.dev/*"]
`
	changeableFile = "/tmp/e2e-changeable-taints.yaml"
)

// replaceTaint creates the Env's own Node with one taint. As the node, it then replaces the key of the
// taint by a listed one. The control plane may add other taints to the Node at any time: these stay.
func replaceTaint(ctx SpecContext, before, after string) error {
	GinkgoHelper()
	node := fixtures.Node(suite.Env().Own)
	node.Labels = map[string]string{FakeNodeLabel: "true"}
	node.Spec.Taints = []corev1.Taint{{Key: before, Effect: corev1.TaintEffectNoSchedule}}
	suite.Env().Put(ctx, node)
	nodes := must(suite.AsNode(node.Name).Client()).CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range now.Spec.Taints {
			if now.Spec.Taints[i].Key == before {
				now.Spec.Taints[i].Key = after
			}
		}
		patch := must(json.Marshal(fields{
			"metadata": fields{"resourceVersion": now.ResourceVersion}, "spec": fields{"taints": now.Spec.Taints},
		}))
		_, err = nodes.Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

func taintKeys(ctx SpecContext) (keys []string) {
	GinkgoHelper()
	node := must(suite.Client.CoreV1().Nodes().Get(ctx, suite.Env().Own, metav1.GetOptions{}))
	for _, taint := range node.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	return keys
}

// On hardened, the in-tree plugin denies every change of taints by a node. On parity, node-restriction
// reads no configuration unless the operator gives one to the installer.
var _ = Describe("the operator's list of taints that a node may change:", Serial, Ordered,
	Label(Disruptive, OnHost, OnParity, Slow), func() {
		const listed, other, after = "e2e.bulkhead.dev/a", "e2e.example/a", "e2e.bulkhead.dev/b"

		BeforeAll(func(ctx SpecContext) {
			installed := must(suite.ReadInstallation(ctx))
			if installed.Policy.Own {
				Skip("the operator has chosen a configuration of node-restriction")
			}
			DeferCleanup(func(ctx context.Context) {
				suite.OnControlPlane(ctx, "rm -f "+changeableFile+" && "+installed.Command()+" --node-restriction-config=")
				suite.AwaitWebhook(ctx, Soon, RestrictionReady)
			})
			encoded := base64.StdEncoding.EncodeToString([]byte(changeable))
			suite.OnControlPlane(ctx, "echo "+encoded+" | base64 -d >"+changeableFile+" && "+installed.Command()+
				" --node-restriction-config="+changeableFile)
			suite.AwaitWebhook(ctx, Soon, RestrictionReady)
		})

		It("patch of the Node that replaces a listed taint: admitted", Allows("NR-NODE-4"), func(ctx SpecContext) {
			Expect(replaceTaint(ctx, listed, after)).To(Succeed())
			Expect(taintKeys(ctx)).To(And(ContainElement(after), Not(ContainElement(listed))))
		})
		It("patch of the Node that replaces another taint: denied", Denies("NR-NODE-4"), func(ctx SpecContext) {
			err := replaceTaint(ctx, other, after)
			Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
			Expect(err).To(MatchError(ContainSubstring(notTaints + " [NR-NODE-4]")))
			Expect(taintKeys(ctx)).To(And(ContainElement(other), Not(ContainElement(after))))
		})
	})
