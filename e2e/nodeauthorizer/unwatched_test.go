// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// onlyGets is the end of the reason of NA-SECRET-3 and NA-CM-3.
const onlyGets = "set configMapAndSecretChangeDetectionStrategy of the kubelet to Cache or Get"

// No authorizer can end an open watch. This is the reason for NA-SECRET-3 and NA-CM-3.
var _ = Describe("a watch that a node has begun", Label(OnHost, OnWorker), func() {
	It("shows a secret after the last pod that used it has left, and a new watch is denied", Denies("NA-SECRET-2"),
		func(ctx SpecContext) {
			env := suite.Env()
			kubelet := must(suite.RealKubelet(ctx, suite.Worker))
			client := must(kubelet.Client())
			secret := fixtures.Secret(env.Namespace(ctx), "watched")
			env.Put(ctx, secret)
			pod := fixtures.Pod(secret.Namespace, "user", suite.Worker, fixtures.WithSecret(secret.Name))
			env.Put(ctx, pod)
			get := Get(api.Secrets).In(secret.Namespace).Named(secret.Name)
			suite.ExpectAllowed(ctx, kubelet, get, "NA-SECRET-1")
			events := must(client.CoreV1().Secrets(secret.Namespace).Watch(ctx, metav1.ListOptions{
				FieldSelector: "metadata.name=" + secret.Name, TimeoutSeconds: ptr.To[int64](3600),
			}))
			defer events.Stop()

			left := time.Now()
			Expect(suite.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
				metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).To(Succeed())
			suite.BecomesRefused(ctx, kubelet, get, "NA-SECRET-1", left, unrelated)
			_, err := suite.Client.CoreV1().Secrets(secret.Namespace).Patch(ctx, secret.Name, types.MergePatchType,
				[]byte(`{"stringData":{"new":"value"}}`), metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, events.ResultChan()).WithTimeout(Soon).Should(Receive(Satisfy(func(e watch.Event) bool {
				secret, ok := e.Object.(*corev1.Secret)
				return ok && string(secret.Data["new"]) == "value"
			})))
			suite.ExpectForbidden(ctx, kubelet, Watch(api.Secrets).In(secret.Namespace).Where("metadata.name="+secret.Name),
				"NA-SECRET-2", unrelated)
		})
})

// These rules only audit by default, so the specs enforce them by name. The kubelets of the cluster
// use watches, so no pod with a secret can start during these specs.
var _ = Describe("nodes while NA-SECRET-3 and NA-CM-3 are enforced", Serial, Ordered,
	Label(Disruptive, OnHost, OnHardened, Slow), func() {
		BeforeAll(func(ctx SpecContext) {
			installed := must(suite.ReadInstallation(ctx))
			if installed.Profile == InTree {
				Skip("bulkhead was not installed by its installer on " + suite.ControlPlane)
			}
			DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, installed.Command()) })
			suite.OnControlPlane(ctx, installed.Enforcing("NA-SECRET-3", "NA-CM-3").Command())
		})

		DescribeTable("and objects that a pod on the node mounts:", decide,
			Entry("a node gets the secret", AllowsBy("NA-SECRET-3", "NA-SECRET-1"),
				used(own, aSecret, fixtures.WithSecret, named(Get(api.Secrets)))),
			Entry("a node does not list the object by name", Denies("NA-SECRET-3"),
				used(own, aSecret, fixtures.WithSecret, selected(List(api.Secrets))), onlyGets),
			Entry("a node does not watch the object by name", Denies("NA-SECRET-3"),
				used(own, aSecret, fixtures.WithSecret, selected(Watch(api.Secrets))), onlyGets),
			Entry("a node gets the config map", AllowsBy("NA-CM-3", "NA-CM-1"),
				used(own, aConfigMap, fixtures.WithConfigMap, named(Get(api.ConfigMaps)))),
			Entry("a node does not list the object by name", Denies("NA-CM-3"),
				used(own, aConfigMap, fixtures.WithConfigMap, selected(List(api.ConfigMaps))), onlyGets),
			Entry("a node does not watch the object by name", Denies("NA-CM-3"),
				used(own, aConfigMap, fixtures.WithConfigMap, selected(Watch(api.ConfigMaps))), onlyGets),
		)
	})
