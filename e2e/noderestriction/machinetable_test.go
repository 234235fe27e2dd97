// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"path"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const (
	machineTable = "machine-table"
	startupTaint = "bulkhead.dev/uninitialized"
)

// runMachineTable runs machine-table-controller with a table for the nodes of this Env, until the end of
// the spec.
func runMachineTable(ctx context.Context, table string) {
	GinkgoHelper()
	installed := must(suite.ReadInstallation(ctx))
	suite.Env().Put(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bulkhead-machine-table"},
		Data:       map[string]string{"configuration.yaml": table},
	})
	for _, file := range []string{"clusterrole", "clusterrolebinding", "serviceaccount", "deployment"} {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(
			must(manifests.FS.ReadFile(path.Join(machineTable, file+".yaml"))), nil, nil)
		Expect(err).NotTo(HaveOccurred())
		if deployment, is := object.(*appsv1.Deployment); is {
			deployment.Spec.Template.Spec.Containers[0].Image = installed.Image
		}
		suite.Env().Put(ctx, object.(k8s.Object))
	}
	Eventually(ctx, func() (int32, error) {
		deployment, err := suite.Client.AppsV1().Deployments("kube-system").Get(ctx, "bulkhead-machine-table-controller",
			metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		return deployment.Status.ReadyReplicas, nil
	}).WithTimeout(ControllerManager).WithPolling(time.Second).Should(BeEquivalentTo(1))
}

// taintsOf returns the keys of a Node's taints, and the value of its label pool.
func taintsOf(ctx context.Context, name string) (keys []string, pool string, err error) {
	node, err := suite.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	for _, taint := range node.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	return keys, node.Labels["e2e.bulkhead.dev/pool"], nil
}

var _ = It("machine-table-controller replaces the startup taint by the row of the table, and leaves other Nodes alone",
	Serial, Label(OnHost, OnHardened), Allows("NR-MACHINE-2"), func(ctx SpecContext) {
		env := suite.Env()
		runMachineTable(ctx, "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\nmachines:\n- name: "+
			env.Own+"\n  labels: {e2e.bulkhead.dev/pool: pii}\n"+
			"  taints: [{key: e2e.bulkhead.dev/pool, value: pii, effect: NoSchedule}]\n")
		other := env.Node(ctx, env.Other)
		node := fixtures.Node(env.Own)
		node.Labels = map[string]string{FakeNodeLabel: "true"}
		node.Spec.Taints = []corev1.Taint{{Key: startupTaint, Effect: corev1.TaintEffectNoSchedule}}
		env.Put(ctx, node)
		Eventually(ctx, func(g Gomega) {
			keys, pool, err := taintsOf(ctx, node.Name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pool).To(Equal("pii"))
			g.Expect(keys).To(And(ContainElement("e2e.bulkhead.dev/pool"), Not(ContainElement(startupTaint))))
		}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(Succeed())
		keys, pool, err := taintsOf(ctx, other.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(pool).To(BeEmpty())
		Expect(keys).NotTo(ContainElement("e2e.bulkhead.dev/pool"))
	})
