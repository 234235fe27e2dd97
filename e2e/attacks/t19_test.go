// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T19", Title: "Subresources of pods and claims reach further than their status",
	Source: "plugin/pkg/admission/noderestriction/admission.go; KEP-277; KEP-1287",
	Effect: "Agents that debug, resize or place pods have rights to these subresources in the whole cluster. Through " +
		"them, the attacker runs code in a pod of another node, takes its CPU, marks it as failed, or has a waiting pod " +
		"run on its own node. " +
		"A label that it writes through the status of a claim stays.",
	Stops: "Of the subresources, a node uses only the status and evictions of its own pods, and of a claim it writes " +
		"only fields of the status. An account with pods in its scope has the same limits.",
	Attempts: []Attempt{
		{
			Name:   "pods/ephemeralcontainers of another node's pod",
			Effect: "code of the attacker runs in the other node's pod and prints its secret",
			By:     daemon, Rights: allOfPods, Rule: "NS-POD-3", Text: "[NA-POD-4]",
			Prepare: func(ctx context.Context, r *Run) {
				r.Name = r.NewName("secret")
				r.Put(ctx, fixtures.Secret(r.Namespace(ctx), r.Name))
				r.Pod = running(ctx, r.Env.Pod(ctx, r.Victim(), fixtures.WithShell("shell", "while :; do sleep 60; done"),
					fixtures.WithSecret(r.Name)))
			},
			Attack: sends(func(r *Run) Request { return withInjected(r).Stored() }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				Eventually(ctx, printed).WithArguments(r.Pod).WithTimeout(PodStart).WithPolling(200 * time.Millisecond).
					Should(Equal(word))
				r.Say("The container %s in pod %s on %s printed %q.", injected, r.Pod.Name, r.Victim(), word)
			},
			TwinIs: byOtherAccount, TwinRule: Behind, Twin: byUnscoped(allOfPods, withInjected),
		},
		{
			Name: "pods/resize of another node's pod", Effect: "the kubelet limits the pod to a tenth of its CPU",
			By: daemon, Rights: allOfPods, Rule: "NS-POD-3", Text: "[NA-POD-4]",
			Prepare: func(ctx context.Context, r *Run) {
				r.Pod = running(ctx, r.Env.Pod(ctx, r.Victim(), withCPU))
			},
			Attack: sends(func(r *Run) Request { return withLessCPU(r).Stored() }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				Eventually(ctx, limitedCPU).WithArguments(r.Pod).WithTimeout(time.Minute).WithPolling(500 * time.Millisecond).
					Should(Equal(littleCPU))
				r.Say("The kubelet of %s reports that the container of pod %s has %s CPU.", r.Victim(), r.Pod.Name, littleCPU)
			},
			TwinIs: byOtherAccount, TwinRule: Behind, Twin: byUnscoped(allOfPods, withLessCPU),
		},
		{
			Name: "pods/binding of a waiting pod", Effect: "a pod with a secret runs on the attacker's node",
			By: daemon, Rights: allOfPods, Rule: "NS-POD-3", Text: "[NA-POD-4]",
			Prepare: func(ctx context.Context, r *Run) {
				r.Name = r.NewName("secret")
				r.Put(ctx, fixtures.Secret(r.Namespace(ctx), r.Name))
				r.Pod = r.Env.Pod(ctx, "", fixtures.Unscheduled, fixtures.WithSecret(r.Name))
			},
			Attack: sends(func(r *Run) Request { return boundHere(r).Stored() }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				Expect(running(ctx, r.Pod).Spec.NodeName).To(Equal(r.Attacker()))
			},
			TwinIs: byOtherAccount, TwinRule: Behind, Twin: byUnscoped(allOfPods, boundHere),
		},
		{
			Name: "pods/status of another node's pod", Effect: "the ReplicaSet of the pod replaces it",
			By: daemon, Rights: allOfPods, Rule: "NS-POD-3", Text: "[NA-POD-1]",
			Prepare: func(ctx context.Context, r *Run) {
				r.Names["replica"] = replica(ctx, r)
				r.Names["own"] = r.Env.Pod(ctx, r.Attacker()).Name
			},
			Attack: sends(func(r *Run) Request { return markedFailed(r, r.Names["replica"]).Stored() }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				Eventually(ctx, podsOfPayments).WithArguments(r).WithTimeout(time.Minute).WithPolling(200 * time.Millisecond).
					Should(ContainElement(Not(Equal(r.Names["replica"]))))
				r.Say("The ReplicaSet has created another pod instead of %s.", r.Names["replica"])
			},
			TwinIs: "the same patch of a pod on its own node (as a dry run)",
			Twin:   sends(func(r *Run) Request { return markedFailed(r, r.Names["own"]) }),
		},
		{
			Name: "a label of a claim through its status", Effect: "the claim has the label",
			By: kubelet, Rule: "NR-PVC-2", Text: "is not allowed to update fields other than",
			Prepare: claimOnWorker,
			Attack:  sends(func(r *Run) Request { return ofClaim(r).With(labels("app", payments)) }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				claim := must(suite.Client.CoreV1().PersistentVolumeClaims(r.Namespace(ctx)).Get(ctx, r.Name,
					metav1.GetOptions{}))
				Expect(claim.Labels).To(HaveKeyWithValue("app", "payments"))
			},
			TwinIs: "the capacity in the status instead of a label",
			Twin: sends(func(r *Run) Request {
				return ofClaim(r).With(fields{"status": fields{"capacity": fields{"storage": "1Mi"}}})
			}),
		},
	},
})

var allOfPods = []rbacv1.PolicyRule{right("", []string{"create", "patch"}, "pods/ephemeralcontainers",
	"pods/resize", "pods/binding", "pods/status")}

// ofPod patches a subresource of a pod.
func ofPod(namespace, name, subresource string) Request {
	return Patch(api.Pods).In(namespace).Named(name).Sub(subresource)
}

// markedFailed writes the end of a pod into its status, as the kubelet of its node does.
func markedFailed(r *Run, name string) Request {
	return ofPod(r.Namespace(context.Background()), name, "status").With(status("phase", string(corev1.PodFailed)))
}

// podsOfPayments returns the names of the pods of the ReplicaSet of [replica].
func podsOfPayments(ctx context.Context, r *Run) (names []string, err error) {
	list, err := r.Client.CoreV1().Pods(r.Namespace(ctx)).List(ctx, metav1.ListOptions{LabelSelector: "app=" + payments})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of the ReplicaSet: %w", err)
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// boundHere binds the waiting pod to the attacker's node, as a scheduler does.
func boundHere(r *Run) Request {
	return Create(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Sub("binding").
		With(fixtures.Binding(r.Pod.Namespace, r.Pod.Name, r.Attacker()))
}

// injected is the container that the attacker adds to a pod.
const injected = "injected"

// withInjected adds a container to the running pod. It has the pod's volumes and prints its secret.
func withInjected(r *Run) Request {
	first := r.Pod.Spec.Containers[0]
	container := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: injected, Image: first.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"/bin/sh", "-c", "cat /secret/word"}, VolumeMounts: first.VolumeMounts,
	}}
	return ofPod(r.Pod.Namespace, r.Pod.Name, "ephemeralcontainers").
		With(fields{"spec": fields{"ephemeralContainers": []any{container}}})
}

// printed returns the log of the container that the attacker added.
func printed(ctx context.Context, pod *corev1.Pod) (string, error) {
	log, err := suite.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name,
		&corev1.PodLogOptions{Container: injected}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", injected, err)
	}
	return string(log), nil
}

func withCPU(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}
}

// littleCPU is a tenth of what [withCPU] gives.
const littleCPU = "10m"

// withLessCPU takes most of its CPU from the running pod.
func withLessCPU(r *Run) Request {
	container := *r.Pod.Spec.Containers[0].DeepCopy()
	container.Resources.Limits[corev1.ResourceCPU] = resource.MustParse(littleCPU)
	return ofPod(r.Pod.Namespace, r.Pod.Name, "resize").With(fields{"spec": fields{"containers": []any{container}}})
}

// limitedCPU returns the limit that the runtime applies to the pod's container, as its kubelet reports it.
func limitedCPU(ctx context.Context, pod *corev1.Pod) (string, error) {
	got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading pod %s: %w", pod.Name, err)
	}
	if len(got.Status.ContainerStatuses) == 0 || got.Status.ContainerStatuses[0].Resources == nil {
		return "", nil
	}
	return got.Status.ContainerStatuses[0].Resources.Limits.Cpu().String(), nil
}

// claimOnWorker creates a claim of a pod on the worker.
func claimOnWorker(ctx context.Context, r *Run) {
	GinkgoHelper()
	volume := r.NewName("volume")
	r.Name = r.NewName("claim")
	r.Put(ctx, fixtures.Volume(volume, r.Namespace(ctx), r.Name, "none"), fixtures.Claim(r.Namespace(ctx), r.Name, volume))
	r.Env.Pod(ctx, r.Attacker(), fixtures.WithClaim(r.Name))
}

func ofClaim(r *Run) Request {
	return Patch(api.PersistentVolumeClaims).In(r.Namespace(context.Background())).Named(r.Name).Sub("status").Stored()
}
