// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// mirrorRetry bounds how long a kubelet takes to create a denied mirror pod again. It tries with each
// sync of the static pod, every 60 to 90 s (pkg/kubelet/kubelet.go resyncInterval,
// workerResyncIntervalJitterFactor).
const mirrorRetry = 4 * time.Minute

// mirrorPod returns the UID of a mirror pod.
func mirrorPod(namespace, name string) func(context.Context) (types.UID, error) {
	return func(ctx context.Context) (types.UID, error) {
		pod, err := suite.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return pod.UID, nil
	}
}

// deniedMirrors returns the denials of the worker's kubelet about a mirror pod.
func deniedMirrors(name string, since time.Time) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		all, err := refused(ctx, suite.Worker, since)
		var about []string
		for _, denial := range all {
			if strings.HasPrefix(denial, "create pods ") && strings.Contains(denial, name) {
				about = append(about, denial)
			}
		}
		return about, err
	}
}

func expectMirrorDenied(ctx context.Context, name string, since time.Time, rule string) {
	GinkgoHelper()
	Eventually(ctx, deniedMirrors(name, since)).WithTimeout(mirrorRetry).WithPolling(time.Second).
		Should(ContainElement(ContainSubstring("[" + rule + "]")))
}

// running returns the names of the pods that run on the worker, from its container runtime.
func running(ctx context.Context) ([]string, error) {
	raw, err := suite.Client.CoreV1().RESTClient().Get().
		AbsPath("/api/v1/nodes/" + suite.Worker + "/proxy/runningpods/").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := json.Unmarshal(raw, &pods); err != nil {
		return nil, err
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names, nil
}

// putStaticIn runs a static pod without labels in the Env's namespace, on the worker.
func putStaticIn(ctx context.Context) (namespace, name string) {
	GinkgoHelper()
	env := suite.Env()
	namespace = env.Namespace(ctx)
	name = putManifest(ctx, env.NewName("static"), func(manifest string) string {
		return strings.NewReplacer("namespace: kube-system", "namespace: "+namespace,
			"  labels: {none: e2e}\n", "").Replace(manifest)
	}, "none")
	return namespace, name
}

var _ = Describe("a real kubelet and mirror pods:", Label(OnHost), SpecPriority(1), func() {
	It("each mirror pod of the control plane has its Node as the only owner", Allows("NR-POD-2"),
		func(ctx SpecContext) {
			node, err := suite.Client.CoreV1().Nodes().Get(ctx, suite.ControlPlane, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			pods, err := suite.Client.CoreV1().Pods("kube-system").List(ctx,
				metav1.ListOptions{FieldSelector: "spec.nodeName=" + suite.ControlPlane})
			Expect(err).NotTo(HaveOccurred())
			mirrors := 0
			for i := range pods.Items {
				if _, is := pods.Items[i].Annotations[fixtures.MirrorAnnotation]; !is {
					continue
				}
				mirrors++
				Expect(pods.Items[i].OwnerReferences).To(HaveExactElements(metav1.OwnerReference{APIVersion: "v1", Kind: "Node",
					Name: node.Name, UID: node.UID, Controller: ptr.To(true)}), pods.Items[i].Name)
			}
			Expect(mirrors).To(BeNumerically(">=", 4), "etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
		})

	It("a static pod runs although its mirror pod is denied", Label(OnHardened, OnWorker), Denies("NR-MIRROR-1"),
		func(ctx SpecContext) {
			annotate(ctx, suite.Env().Namespace(ctx), fields{fixtures.MirrorAllowed: nil})
			since := time.Now()
			namespace, name := putStaticIn(ctx)
			expectMirrorDenied(ctx, name, since, "NR-MIRROR-1")
			Eventually(ctx, running).WithTimeout(PodStart).WithPolling(time.Second).Should(ContainElement(name))
			_, err := mirrorPod(namespace, name)(ctx)
			Expect(err).To(MatchError(ContainSubstring("not found")))
		})

	It("a namespace is opened, and closed again", Label(OnHardened, OnWorker, Slow), Allows("NR-MIRROR-1"),
		func(ctx SpecContext) {
			closed, opened := fields{fixtures.MirrorAllowed: nil}, fields{fixtures.MirrorAllowed: "true"}
			annotate(ctx, suite.Env().Namespace(ctx), closed)
			since := time.Now()
			namespace, name := putStaticIn(ctx)
			expectMirrorDenied(ctx, name, since, "NR-MIRROR-1")

			By("opening the namespace: the kubelet creates the mirror pod")
			annotate(ctx, namespace, opened)
			var first types.UID
			Eventually(ctx, func(ctx context.Context) (err error) {
				first, err = mirrorPod(namespace, name)(ctx)
				return err
			}).WithTimeout(mirrorRetry).WithPolling(time.Second).Should(Succeed())

			By("closing the namespace: the mirror pod stays, and is denied when it was deleted")
			annotate(ctx, namespace, closed)
			Expect(mirrorPod(namespace, name)(ctx)).To(Equal(first))
			since = time.Now()
			Expect(suite.Client.CoreV1().Pods(namespace).Delete(ctx, name, *metav1.NewDeleteOptions(0))).To(Succeed())
			expectMirrorDenied(ctx, name, since, "NR-MIRROR-1")
			_, err := mirrorPod(namespace, name)(ctx)
			Expect(err).To(MatchError(ContainSubstring("not found")))
		})
})

// The gate is the KEP's MirrorPodNodeRestriction. A denied mirror pod is created when the gate is off
// or warns, and stays when it is on again.
var _ = It("a real kubelet creates a denied mirror pod when the gate only warns, and keeps it when the gate is on",
	Serial, Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), Allows("NR-MIRROR-2"), func(ctx SpecContext) {
		enforcing := decoded(suite.OnControlPlane(ctx, "base64 -w0 "+StateDirectory+"/node-restriction/configuration.yaml"))
		Expect(enforcing).To(ContainSubstring("mode: enforce"))
		since := time.Now()
		name := putStatic(ctx, suite.Env().NewName("static"), "app")
		expectMirrorDenied(ctx, name, since, "NR-MIRROR-2")

		suite.Configure(ctx, strings.Replace(enforcing, "mode: enforce", "mode: warn", 1))
		var uid types.UID
		Eventually(ctx, func(ctx context.Context) (err error) {
			uid, err = mirrorPod("kube-system", name)(ctx)
			return err
		}).WithTimeout(mirrorRetry).WithPolling(time.Second).Should(Succeed())

		suite.Configure(ctx, enforcing)
		enforced := time.Now()
		// The kubelet still reports the status of the pod. A denial of that would be in the audit log.
		Eventually(ctx, func(ctx context.Context) (corev1.PodPhase, error) {
			pod, err := suite.Client.CoreV1().Pods("kube-system").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return pod.Status.Phase, nil
		}).WithTimeout(PodStart).WithPolling(time.Second).Should(Equal(corev1.PodRunning))
		Expect(mirrorPod("kube-system", name)(ctx)).To(Equal(uid))
		denied, err := refused(ctx, suite.Worker, enforced)
		Expect(err).NotTo(HaveOccurred())
		Expect(denied).NotTo(ContainElement(ContainSubstring(" pods kube-system/" + name)))
	})

func decoded(text string) string {
	GinkgoHelper()
	return string(must(base64.StdEncoding.DecodeString(strings.TrimSpace(text))))
}
