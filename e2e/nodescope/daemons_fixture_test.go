// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// useCase is a typical DaemonSet: an example of docs/examples/node-scope, with its requests.
type useCase struct {
	name    string
	works   []step
	refused []step
}

// step is one request of the DaemonSet, and the rule that decides it.
type step struct {
	what    string
	by      rules.ID
	request RequestFunc
	text    string
	// atAdmission is true for a write that the authorizers allow and that admission decides.
	// onlyHardened is true where the rule that then denies it may be off on other profiles.
	atAdmission, onlyHardened bool
}

// withoutAnnotation is the suffix of an account with the same rights and no scope.
const withoutAnnotation = "-off"

// makeDaemons creates the DaemonSets of the use cases in a separate namespace, because they have
// their own rights.
func makeDaemons(ctx context.Context, e *Env) {
	GinkgoHelper()
	stage.Daemons = stage.Namespace + "-ds"
	e.Put(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stage.Daemons, Labels: fixtures.AnyPod()}})
	for _, u := range useCases {
		example, err := exampleOf(u.name)
		Expect(err).NotTo(HaveOccurred())
		account := fixtures.ServiceAccount(stage.Daemons, u.name)
		account.Annotations = example.account.Annotations
		role := &rbacv1.ClusterRole{Rules: example.role.Rules}
		role.Name = stage.Daemons + ":" + u.name
		binding := &rbacv1.ClusterRoleBinding{
			Subjects: []rbacv1.Subject{
				{Kind: rbacv1.ServiceAccountKind, Namespace: stage.Daemons, Name: u.name},
				{Kind: rbacv1.ServiceAccountKind, Namespace: stage.Daemons, Name: u.name + withoutAnnotation},
			},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		}
		binding.Name = role.Name
		e.Put(ctx, account, role, binding, daemonSet(u.name))
	}
}

// daemonSet runs a pod on every node that has a kubelet.
func daemonSet(name string) *appsv1.DaemonSet {
	pod := fixtures.Pod("", "", "", fixtures.As(name), withTokenOfItsOwn, func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": name}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: FakeNodeLabel, Operator: corev1.NodeSelectorOpDoesNotExist},
				}}},
			},
		}}
	})
	set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
	}}
	set.Namespace, set.Name = stage.Daemons, name
	return set
}

// stealFromDaemons waits for the pods on the worker and reads their tokens.
func stealFromDaemons(ctx context.Context) {
	GinkgoHelper()
	pods := map[string]*corev1.Pod{}
	Eventually(ctx, func() (string, error) {
		list, err := suite.Client.CoreV1().Pods(stage.Daemons).List(ctx,
			metav1.ListOptions{FieldSelector: "spec.nodeName=" + own()})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			if pod := &list.Items[i]; pod.Status.Phase == corev1.PodRunning {
				pods[pod.Labels["app"]] = pod
				stage.UIDs[pod.Labels["app"]] = pod.UID
			}
		}
		return fmt.Sprintf("%d of %d", len(pods), len(useCases)), nil
	}).WithTimeout(PodStart).WithPolling(500 * time.Millisecond).Should(
		Equal(fmt.Sprintf("%[1]d of %[1]d", len(useCases))))
	steal(ctx, pods)
	names := make([]string, 0, len(useCases))
	for _, u := range useCases {
		names = append(names, u.name)
	}
	Eventually(ctx, func() ([]string, error) { return pending(ctx, stage.Daemons, names...) }).
		WithTimeout(listed).WithPolling(500 * time.Millisecond).Should(BeEmpty())
}
