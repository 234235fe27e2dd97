// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// reservedTaint keeps the pods of other specs away from a Node without a kubelet.
const reservedTaint = "e2e.bulkhead.dev/reserved"

// capacity lets the scheduler choose a Node.
func capacity() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("20")}
}

// victim creates the Node r.Other, which has no kubelet. The scheduler may choose it for pods of this
// spec only.
func victim(ctx context.Context, r *Run) {
	GinkgoHelper()
	node := fixtures.Node(r.Other)
	node.Labels = map[string]string{FakeNodeLabel: "true"}
	node.Spec.Taints = []corev1.Taint{{Key: reservedTaint, Value: r.Other, Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Capacity, node.Status.Allocatable = capacity(), capacity()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		Reason: "EndToEnd", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
	r.Put(ctx, node)
	r.Node = node
}

// tolerant are the tolerations of the pods of a spec. They do not tolerate a cordoned node.
func tolerant(node string) []corev1.Toleration {
	all := []corev1.Toleration{{Key: reservedTaint, Value: node, Effect: corev1.TaintEffectNoSchedule}}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		all = append(all, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
	return all
}

// preferring schedules a pod to the victim if possible, and to the attacker's node otherwise.
func preferring(r *Run) fixtures.PodTweak {
	only := func(node string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}
	}
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = tolerant(r.Other)
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{only(r.Other), only(r.Attacker())}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 100, Preference: only(r.Other)}},
		}}
	}
}

// scheduled creates a pod of the spec's account and returns the node that the scheduler chooses.
func scheduled(ctx context.Context, r *Run, tweaks ...fixtures.PodTweak) *corev1.Pod {
	GinkgoHelper()
	pod := fixtures.Pod(r.Namespace(ctx), r.NewName("payments"), "", append(tweaks, fixtures.WithAccount)...)
	r.Put(ctx, pod)
	Eventually(ctx, func() (string, error) {
		got, err := r.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil {
			pod = got
		}
		return pod.Spec.NodeName, err
	}).WithTimeout(PodStart).WithPolling(200*time.Millisecond).ShouldNot(BeEmpty(), "pod %s is scheduled", pod.Name)
	r.Say("The scheduler puts pod %s on %s.", pod.Name, pod.Spec.NodeName)
	return pod
}

// chosenVictim is [victim]. Without protection, it also shows that a pod that prefers the victim comes
// there before the attack.
func chosenVictim(ctx context.Context, r *Run) {
	GinkgoHelper()
	victim(ctx, r)
	if !r.Protected {
		scheduledTo(ctx, r, r.Other)
	}
}

// scheduledTo returns a pod that prefers the victim, and that the scheduler puts on a node. Another pod
// follows one that came to another node: the scheduler reads Nodes and pods from two watches, so it can
// see a pod before a change of a Node that was made earlier.
func scheduledTo(ctx context.Context, r *Run, node string) (pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() string {
		pod = scheduled(ctx, r, preferring(r))
		return pod.Spec.NodeName
	}).WithTimeout(PodStart).WithPolling(time.Second).Should(Equal(node))
	return pod
}

// landsHere proves that pods that prefer the victim now come to the attacker's node.
func landsHere(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	showTokenOnDisk(ctx, r, scheduledTo(ctx, r, r.Attacker()))
}

// showTokenOnDisk reads the token of a pod on the attacker's node from its disk.
func showTokenOnDisk(ctx context.Context, r *Run, pod *corev1.Pod) {
	GinkgoHelper()
	if suite.Host.Missing() != "" {
		return
	}
	bearer, err := suite.ReadToken(ctx, onDisk(ctx, r, running(ctx, pod), "projected", "token"))
	Expect(err).NotTo(HaveOccurred())
	Expect(bearer.User).To(Equal("system:serviceaccount:" + pod.Namespace + ":" + fixtures.Account))
	r.Say("The attacker reads the pod's token from the disk of %s: %s.", r.Attacker(), bearer.User)
}

// onDisk returns a file in a volume of a pod from the disk of the attacker's node.
func onDisk(ctx context.Context, r *Run, pod *corev1.Pod, kind, file string) string {
	GinkgoHelper()
	text, err := suite.Host.Run(ctx, r.Attacker(),
		"cat /var/lib/kubelet/pods/"+string(pod.UID)+"/volumes/kubernetes.io~"+kind+"/*/..data/"+file)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(text)
}

// gone waits until an object does not exist.
func gone(ctx context.Context, r *Run, object k8s.Object) {
	GinkgoHelper()
	name, namespace := object.GetName(), object.GetNamespace()
	uid := object.GetUID()
	Eventually(ctx, func() (bool, error) {
		err := r.Objects.Get(ctx, name, namespace, object)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		return err != nil || object.GetUID() != uid, nil
	}).WithTimeout(PodStart).WithPolling(200*time.Millisecond).Should(BeTrue(), "%s is gone", name)
	r.Say("%s does not exist any more.", name)
}

// fields are the body of a merge patch, or a part of one.
type fields = map[string]any

func labels(key string, value any) fields { return metadata("labels", fields{key: value}) }

func metadata(key string, value any) fields { return fields{"metadata": fields{key: value}} }
func spec(key string, value any) fields     { return fields{"spec": fields{key: value}} }
func status(key string, value any) fields   { return fields{"status": fields{key: value}} }

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
