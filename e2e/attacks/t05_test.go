// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var mayRemovePods = []rbacv1.PolicyRule{right("", []string{"get", "delete"}, "pods"),
	right("", []string{"create"}, "pods/eviction")}

var _ = tell(Story{
	ID: "T5", Title: "A DaemonSet's token removes the pods of other nodes",
	Source: "rbac-police steal_pods; antrea-io/antrea#4651",
	Effect: "The attacker deletes or evicts the pods of other nodes. After T1, their controllers create them " +
		"again on the attacker's node.",
	Stops: "With pods and pods/eviction in its scope, an account removes only pods on its own node.",
	Attempts: []Attempt{
		{
			Name: "deleting a pod of another node", Effect: "the pod is gone",
			By: daemon, Rights: mayRemovePods, Rule: "NS-POD-3", Text: "[NA-POD-1]",
			Prepare: podsOnBoth,
			Attack:  sends(func(r *Run) Request { return Delete(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Stored() }),
			Show:    func(ctx context.Context, r *Run, _ Answer) { gone(ctx, r, r.Pod) },
			TwinIs:  "a pod on its own node (as a dry run)",
			Twin:    sends(func(r *Run) Request { return Delete(api.Pods).In(r.Pod.Namespace).Named(r.Names["own"]) }),
		},
		{
			Name: "evicting a pod of another node", Effect: "the pod is gone",
			By: daemon, Rights: mayRemovePods, Rule: "NS-POD-3", Text: "[NA-POD-1]",
			Prepare: podsOnBoth,
			Attack: sends(func(r *Run) Request {
				return Create(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Sub("eviction").Stored().
					With(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: r.Pod.Namespace, Name: r.Pod.Name}})
			}),
			Show:   func(ctx context.Context, r *Run, _ Answer) { gone(ctx, r, r.Pod) },
			TwinIs: "a pod on its own node (as a dry run)",
			Twin: sends(func(r *Run) Request {
				return Create(api.Pods).In(r.Pod.Namespace).Named(r.Names["own"]).Sub("eviction").
					With(fixtures.Eviction(r.Pod.Namespace, r.Names["own"]))
			}),
		},
		{
			Name: "cordoning another node and deleting its pod", Effect: "the pod's token is on the disk of the attacker's node",
			By: daemon, Rights: slices.Concat(mayRemovePods, mayPatchNodes), Rule: "NS-POD-3", Text: "[NA-POD-1]",
			Prepare: replicated, Attack: steals, Show: stolen,
			TwinIs:   "only the deletion, of a pod on its own node (as a dry run)",
			TwinAlso: "The attack has two steps, and the twin has only the second one.",
			Twin:     sends(func(r *Run) Request { return Delete(api.Pods).In(r.Pod.Namespace).Named(r.Names["own"]) }),
		},
	},
})

// replicated creates a ReplicaSet whose pod prefers the other node: [Run.Pod]. A pod is on the attacker's
// node, too.
func replicated(ctx context.Context, r *Run) {
	GinkgoHelper()
	victim(ctx, r)
	selector := map[string]string{"app": r.Other}
	pod := fixtures.Pod("", "", "", preferring(r), fixtures.WithAccount)
	r.Put(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(ctx), Name: "payments"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: pod.Spec},
		},
	})
	r.Pod = replicaOn(ctx, r, r.Other, func(elsewhere *corev1.Pod) { r.Remove(ctx, elsewhere) })
	r.Names["own"] = r.Env.Pod(ctx, r.Attacker()).Name
}

// steals cordons the other node and deletes the pod. Where node scope is in force, the first must be denied, as
// in T1. The attacker still tries the second.
func steals(ctx context.Context, r *Run, who *Identity) Answer {
	GinkgoHelper()
	begun := time.Now()
	cordon := func() Answer {
		return r.Send(ctx, who, Patch(api.Nodes).Named(r.Other).With(spec("unschedulable", true)).Stored())
	}
	if r.Protected && inForce(ctx, "NS-NODE-2") {
		r.expectDenied(ctx, who, begun, "NS-NODE-2", onlyOwnNode, cordon)
	} else if cordoned := cordon(); cordoned.Code != http.StatusOK {
		return cordoned
	}
	return r.Send(ctx, who, Delete(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Stored())
}

// stolen waits for the ReplicaSet's next pod on the attacker's node, and reads its token there.
func stolen(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	pod := replicaOn(ctx, r, r.Attacker(), func(elsewhere *corev1.Pod) {
		r.Send(ctx, r.Who, Delete(api.Pods).In(elsewhere.Namespace).Named(elsewhere.Name).Stored())
	})
	r.Say("The ReplicaSet's next pod %s is on %s.", pod.Name, r.Attacker())
	showTokenOnDisk(ctx, r, pod)
}

// replicaOn waits until the ReplicaSet of [replicated] has a pod on a node. It calls elsewhere for a pod
// that the scheduler puts on another node: the scheduler may not know yet what happened to the nodes.
func replicaOn(ctx context.Context, r *Run, node string, elsewhere func(*corev1.Pod)) (found *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) {
		list, err := r.Client.CoreV1().Pods(r.Namespace(ctx)).List(ctx, metav1.ListOptions{LabelSelector: "app=" + r.Other})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			found = &list.Items[i]
			if found.DeletionTimestamp != nil || found.Spec.NodeName == "" {
				continue
			}
			if found.Spec.NodeName != node {
				elsewhere(found)
			}
			return found.Spec.NodeName, nil
		}
		return "", nil
	}).WithTimeout(PodStart).WithPolling(time.Second).Should(Equal(node), "a pod of the ReplicaSet is on %s", node)
	return found
}

// podsOnBoth creates a pod on another node, and one on the attacker's node.
func podsOnBoth(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Pod = r.Env.Pod(ctx, r.Other)
	r.Names["own"] = r.Env.Pod(ctx, r.Attacker()).Name
}
