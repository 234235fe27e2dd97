// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// A kubelet always tries to register when it starts.
var _ = Describe("a real kubelet that starts", Serial, Label(Disruptive, Slow, OnHost, OnWorker), func() {
	It("registers as before", Allows("NR-NODE-1"), func(ctx SpecContext) {
		since := time.Now()
		onWorker(ctx, "systemctl restart kubelet")
		Eventually(ctx, func() ([]int32, error) { return registrations(ctx, since) }).WithTimeout(PodStart).WithPolling(
			time.Second).
			Should(ContainElement(int32(http.StatusConflict)), "admitted, and found to be there")
		expectRefusalsOnList(ctx, suite.Worker, since, "which started again")
	})

	// The kubelet is stopped during this time, so that the Node is missing long enough for other
	// components to notice. The objects that it owned are garbage collected, and its podCIDR is
	// free again.
	It("registers again after its Node was deleted, and serves as before", SlowSpec, Allows("NR-NODE-1"), func(
		ctx SpecContext) {
		env := suite.Env()
		before := must(suite.Client.CoreV1().Nodes().Get(ctx, suite.Worker, metav1.GetOptions{}))
		kubelet := must(suite.RealKubelet(ctx, suite.Worker))
		since := time.Now()
		DeferCleanup(restoreWorker, before)
		onWorker(ctx, "systemctl stop kubelet")
		Expect(suite.Client.CoreV1().Nodes().Delete(ctx, suite.Worker, metav1.DeleteOptions{})).To(Succeed())
		Eventually(ctx, ownedObjectsDeleted).WithTimeout(ControllerManager).WithPolling(200*time.Millisecond).Should(BeTrue(),
			"what the Node owned goes with it")

		// The same credentials and the same request, with another name.
		suite.ExpectRefusedWrite(ctx, kubelet, Create(api.Nodes).With(fixtures.Node(env.Other)),
			Refusal{By: "NR-NODE-1", Text: onlyItself})

		restoreWorker(ctx, before)
		after := must(suite.Client.CoreV1().Nodes().Get(ctx, suite.Worker, metav1.GetOptions{}))
		Expect(after.UID).NotTo(Equal(before.UID))
		Expect(registrations(ctx, since)).To(ContainElement(int32(http.StatusCreated)))
		Measured("a kubelet without its Node",
			"registered again, podCIDR "+before.Spec.PodCIDR+" before and "+after.Spec.PodCIDR+" after")

		Eventually(ctx, func() error {
			_, err := suite.Client.CoordinationV1().Leases(fixtures.LeaseNamespace).Get(ctx, suite.Worker, metav1.GetOptions{})
			return err
		}).WithTimeout(NodeReady).WithPolling(time.Second).Should(Succeed(), "its heartbeat")
		secret := fixtures.Secret(env.Namespace(ctx), "secret")
		env.Put(ctx, secret)
		expectRunning(ctx, env.Pod(ctx, suite.Worker, fixtures.WithSecret(secret.Name), fixtures.WithToken()))
		expectRefusalsOnList(ctx, suite.Worker, since, "whose Node was deleted")
	})
})

func onWorker(ctx context.Context, script string) {
	GinkgoHelper()
	_, err := suite.Host.Run(ctx, suite.Worker, script)
	Expect(err).NotTo(HaveOccurred())
}

// registrations returns the answers to the worker's kubelet when it created its Node.
func registrations(ctx context.Context, since time.Time) ([]int32, error) {
	events, err := suite.AuditedWhere(ctx, since, `"verb":"create"`, `"resource":"nodes"`,
		`"user":{"username":"system:node:`+suite.Worker+`"`)
	var codes []int32
	for _, event := range events {
		if strings.HasPrefix(event.UserAgent, "kubelet/") && event.ResponseStatus != nil &&
			event.Stage == auditv1.StageResponseComplete {
			codes = append(codes, event.ResponseStatus.Code)
		}
	}
	return codes, err
}

// ownedObjectsDeleted reports whether the objects that the worker's Node owned are deleted.
// Otherwise the kubelet would use them, until the garbage collector deletes them.
func ownedObjectsDeleted(ctx context.Context) (bool, error) {
	_, lease := suite.Client.CoordinationV1().Leases(fixtures.LeaseNamespace).Get(ctx, suite.Worker, metav1.GetOptions{})
	_, drivers := suite.Client.StorageV1().CSINodes().Get(ctx, suite.Worker, metav1.GetOptions{})
	for _, err := range []error{lease, drivers} {
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
	}
	return lease != nil && drivers != nil, nil
}

// restoreWorker starts the worker's kubelet and restores the cluster's state with the old Node,
// whether that Node still exists or not. kube-controller-manager may give the new Node another
// podCIDR. Then the pod network of the reference cluster must be updated, and the worker's pods get
// new addresses.
func restoreWorker(ctx context.Context, before *corev1.Node) {
	GinkgoHelper()
	onWorker(ctx, "systemctl start kubelet")
	var now *corev1.Node
	Eventually(ctx, func() (bool, error) {
		node, err := suite.Client.CoreV1().Nodes().Get(ctx, suite.Worker, metav1.GetOptions{})
		now = node
		return err == nil && (node.Spec.PodCIDR != "" || before.Spec.PodCIDR == ""), nil
	}).WithTimeout(ControllerManager).WithPolling(50*time.Millisecond).Should(BeTrue(), "registered, and with a podCIDR")
	Expect(suite.FollowPodCIDR(ctx, suite.Worker, before.Spec.PodCIDR)).To(Succeed())
	restoreNodeFields(ctx, before)
	Eventually(ctx, func() (bool, error) {
		node, err := suite.Client.CoreV1().Nodes().Get(ctx, suite.Worker, metav1.GetOptions{})
		return err == nil && IsReady(node), err
	}).WithTimeout(NodeReady).WithPolling(time.Second).Should(BeTrue(), "Ready")
	if was := before.Spec.PodCIDR; was != "" && was != now.Spec.PodCIDR {
		deletePodsWithAddressIn(ctx, was)
	}
	Eventually(ctx, notReady).WithTimeout(ControllerManager).WithPolling(time.Second).Should(BeEmpty())
}

// restoreNodeFields sets again what components other than the kubelet had set on the old Node.
func restoreNodeFields(ctx context.Context, before *corev1.Node) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		node, err := suite.Client.CoreV1().Nodes().Get(ctx, before.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Labels, node.Annotations = filled(node.Labels, before.Labels), filled(node.Annotations, before.Annotations)
		for _, taint := range before.Spec.Taints {
			has := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
			if !has && !strings.HasPrefix(taint.Key, "node.kubernetes.io/") { // set by the node lifecycle controller
				node.Spec.Taints = append(node.Spec.Taints, taint)
			}
		}
		_, err = suite.Client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(Succeed())
}

// filled returns now, plus the keys that only before has.
func filled(now, before map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, before)
	maps.Copy(all, now)
	return all
}

// deletePodsWithAddressIn deletes the worker's pods with an address of the old podCIDR, or with no
// address, so that they are recreated.
func deletePodsWithAddressIn(ctx context.Context, cidr string) {
	GinkgoHelper()
	old := must(netip.ParsePrefix(cidr))
	list := must(suite.Client.CoreV1().Pods("").List(ctx,
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + suite.Worker}))
	for i := range list.Items {
		pod := &list.Items[i]
		ip, err := netip.ParseAddr(pod.Status.PodIP)
		if pod.Spec.HostNetwork || metav1.GetControllerOf(pod) == nil || err == nil && !old.Contains(ip) {
			continue
		}
		err = suite.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		Expect(err == nil || apierrors.IsNotFound(err)).To(BeTrue(), "deleting pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
}

// notReady returns the pods of kube-system that should run and are not ready.
func notReady(ctx context.Context) ([]string, error) {
	list, err := suite.Client.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		pod := &list.Items[i]
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if !ready && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}

func expectRunning(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() (corev1.PodPhase, error) {
		got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return got.Status.Phase, nil
	}).WithTimeout(PodStart).WithPolling(time.Second).Should(Equal(corev1.PodRunning))
}
