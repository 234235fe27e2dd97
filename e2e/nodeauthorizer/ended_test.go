// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	itsSecretName, itsConfigName = "its-secret", "its-config"
	itsClaimName                 = "its-claim"
	// steadyPeriod is how long a spec checks that rights stay which nothing removes.
	steadyPeriod = 3 * time.Second
)

// rich creates a pod on a node that uses an object of every kind. It returns the pod and the name
// of its volume.
func rich(ctx context.Context, e *Env, node string) (pod *corev1.Pod, volume string) {
	namespace := e.Namespace(ctx)
	volume = e.NewName("volume")
	e.Put(ctx,
		fixtures.Secret(namespace, itsSecretName), fixtures.ConfigMap(namespace, itsConfigName),
		fixtures.Volume(volume, namespace, itsClaimName, "of-the-volume"), fixtures.Claim(namespace, itsClaimName, volume),
	)
	pod = e.Pod(ctx, node, fixtures.WithSecret(itsSecretName), fixtures.WithConfigMap(itsConfigName),
		fixtures.WithClaim(itsClaimName), fixtures.WithToken(), certified)
	return pod, volume
}

// end sets the phase of a pod to Succeeded, as the kubelet reports it.
func end(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	must(suite.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType,
		[]byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status"))
}

// The rights from a pod while it runs and, after it has ended, during the grace. revocation_test.go
// covers deletion.
var _ = Describe("a pod that has ended", Ordered, Label(Slow), SpecPriority(1), Attack("T23"), func() {
	var (
		env    *Env
		node   *Identity
		pod    *corev1.Pod
		volume string
		of     = func(r Request, name string) Request { return r.In(pod.Namespace).Named(name) }
	)

	BeforeAll(func(ctx SpecContext) {
		env = suite.Env()
		node = suite.AsNode(env.Own)
		pod, volume = rich(ctx, env, env.Own)
		secret := of(Get(api.Secrets), itsSecretName)
		suite.ExpectAllowed(ctx, node, secret, "NA-SECRET-1")
		// Bulkhead may see the end before the request is answered.
		ended := time.Now()
		end(ctx, pod)
		Consistently(ctx, statusOf(node, secret)).WithTimeout(steadyPeriod).WithPolling(time.Second).Should(
			Equal(http.StatusOK))
		if suite.InForce("NA-POD-6") {
			Eventually(ctx, statusOf(node, secret)).WithTimeout(TerminatedPodGrace + RevokeTimeout).
				WithPolling(time.Second).Should(Equal(http.StatusForbidden))
			Measured("the end of a pod's rights", fmt.Sprintf("%s after its end, at a grace of %s",
				time.Since(ended).Round(time.Second), TerminatedPodGrace))
			Expect(time.Since(ended)).To(BeNumerically(">=", TerminatedPodGrace),
				"the rights ended before the grace period")
		}
	})

	It("no longer gives its node a right to its secret", DeniesBeyond("NA-POD-6", "NA-SECRET-1"), func(ctx SpecContext) {
		suite.ExpectExtension(ctx, node, of(Get(api.Secrets), itsSecretName), "NA-POD-6", "NA-SECRET-1")
	})

	It("no longer lets its node list its secret by name", DeniesBeyond("NA-POD-6", "NA-SECRET-2"), func(ctx SpecContext) {
		suite.ExpectExtension(ctx, node, List(api.Secrets).In(pod.Namespace).Where("metadata.name="+itsSecretName),
			"NA-POD-6", "NA-SECRET-2")
	})

	It("no longer gives its node a right to its config map", DeniesBeyond("NA-POD-6", "NA-CM-1"), func(ctx SpecContext) {
		suite.ExpectExtension(ctx, node, of(Get(api.ConfigMaps), itsConfigName), "NA-POD-6", "NA-CM-1")
	})

	It("no longer gives its node a right to its service account", DeniesBeyond("NA-POD-6", "NA-SA-1"),
		func(ctx SpecContext) {
			suite.ExpectExtension(ctx, node, of(Get(api.ServiceAccounts), pod.Spec.ServiceAccountName), "NA-POD-6", "NA-SA-1")
		})

	It("no longer gives its node a right to tokens", DeniesBeyond("NA-POD-6", "NA-SA-2"), func(ctx SpecContext) {
		suite.ExpectExtension(ctx, node, itsToken(pod), "NA-POD-6", "NA-SA-2")
	})

	It("still lets its node get its claim, to unmount the volume", AllowsBy("NA-POD-6", "NA-PVC-1"),
		func(ctx SpecContext) {
			suite.ExpectAllowed(ctx, node, of(Get(api.PersistentVolumeClaims), itsClaimName), "NA-PVC-1")
		})

	It("still lets its node get its volume, to unmount it", AllowsBy("NA-POD-6", "NA-PV-1"), func(ctx SpecContext) {
		suite.ExpectAllowed(ctx, node, Get(api.PersistentVolumes).Named(volume), "NA-PV-1")
	})

	It("can still be read by its node", AllowsBy("NA-POD-6", "NA-POD-1"), func(ctx SpecContext) {
		suite.ExpectAllowed(ctx, node, of(Get(api.Pods), pod.Name), "NA-POD-1")
	})

	It("does not affect a running pod that uses the same secret", AllowsBy("NA-POD-6", "NA-SECRET-1"),
		func(ctx SpecContext) {
			another := fixtures.Pod(pod.Namespace, "another", env.Own, fixtures.WithSecret(itsSecretName))
			Expect(suite.Objects.Create(ctx, another)).To(Succeed())
			suite.BecomesAllowed(ctx, node, of(Get(api.Secrets), itsSecretName), "NA-SECRET-1", time.Now())
		})
})

// statusOf makes a request and returns the status code of the answer.
func statusOf(who *Identity, request Request) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		code, _, err := who.Send(ctx, request)
		return code, err
	}
}
