// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// operator is an account with all rights in the cluster, and the label of its pod.
const operator = "operator"

// trusted is the label of nodes that the operator's pod may run on. Each spec has its own: two chains
// run at the same time on the same nodes.
func trusted(r *Run) string { return "e2e.bulkhead.dev/trusted-by-" + r.Own }

// An attacker in a privileged container on the worker leaves it, and wants the token of the operator,
// whose pod runs on the other node. RBAC lets an agent on the worker patch nodes and delete pods.
var _ = chain("C1", "from a container escape on the worker to cluster-admin", "NR-LABEL-2", func(ctx context.Context,
	r *Run) {
	runOperator(ctx, r)
	secretsOfBoth(ctx, r)
	granted(ctx, r, agentOf(r), []rbacv1.PolicyRule{right("", []string{"patch"}, "nodes"),
		right("", []string{"list", "delete"}, "pods")})
}, func(ctx context.Context, r *Run) []chainStep {
	node := escaped(ctx, r)
	var agent, admin *Identity
	return []chainStep{
		{what: "the attacker lists the pods of the worker with the kubelet's certificate, and finds an agent",
			act: func(ctx context.Context, r *Run) Answer {
				return r.Send(ctx, node, List(api.Pods).Where("spec.nodeName="+r.Attacker()))
			},
			effect: func(ctx context.Context, r *Run, _ Answer) {
				agent = onWorkersDisk(ctx, r, attackersPod(agentOf(r)))
			}},
		{what: "the kubelet labels its own Node as trusted, so that the operator's pod may run there",
			stoppedBy: "NR-LABEL-2",
			act: func(ctx context.Context, r *Run) Answer {
				return r.Send(ctx, node, Patch(api.Nodes).Named(r.Attacker()).With(labels(trusted(r), "true")).Stored())
			}},
		{what: "with the agent's token from the disk, the attacker takes the label from the other Node",
			stoppedBy: "NS-NODE-2",
			act: func(ctx context.Context, r *Run) Answer {
				return r.Send(ctx, agent, Patch(api.Nodes).Named(r.Victim()).
					With(metadata("labels", fields{trusted(r): nil})).Stored())
			}},
		{what: "and deletes the operator's pod on the other node", stoppedBy: "NS-POD-3",
			act: func(ctx context.Context, r *Run) Answer {
				return r.Send(ctx, agent, Delete(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Stored())
			}},
		{what: "the operator's new pod comes to the worker, and its token is on the worker's disk", needs: true,
			act: func(ctx context.Context, r *Run) Answer {
				operatorOn(ctx, r, r.Attacker())
				admin = onWorkersDisk(ctx, r, r.Pod)
				return r.Send(ctx, admin, secretNamed(r, r.Victim()))
			},
			effect: showSecret},
		{what: "with the operator's token, the attacker makes the agent's account a cluster-admin", needs: true,
			act:    func(ctx context.Context, r *Run) Answer { return bindsAdmin(ctx, r, admin) },
			effect: func(ctx context.Context, r *Run, _ Answer) { expectClusterAdmin(ctx, r, agent) }},
	}
})

// escaped starts a privileged container on the worker, leaves it, and returns the worker's kubelet by the
// certificate on the host's disk. Its requests leave from the host.
func escaped(ctx context.Context, r *Run) *Identity {
	GinkgoHelper()
	container := running(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.WithShell("shell", "while :; do sleep 60; done"),
		privileged))
	pair, err := suite.Exec(ctx, container, "/usr/bin/nsenter", "--target=1", "--mount", "cat", KubeletCertificate)
	Expect(err).NotTo(HaveOccurred())
	r.Say("The attacker leaves a privileged container on %s and reads the certificate of its kubelet.", r.Attacker())
	return suite.AsKubelet(r.Attacker(), []byte(pair)).From(suite.FromHost(r.Attacker()))
}

// privileged makes the pod's container root with all rights on its node.
func privileged(pod *corev1.Pod) {
	pod.Spec.HostPID = true
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true),
		RunAsUser: ptr.To[int64](0), RunAsNonRoot: ptr.To(false)}
}

// agentOf returns the account of the stage whose token the attacker finds: it has a scope where there
// is node scope.
func agentOf(r *Run) string {
	if r.Protected {
		return scoped
	}
	return plain
}

// runOperator starts the operator on the other node. It may run only on nodes with the label.
func runOperator(ctx context.Context, r *Run) {
	GinkgoHelper()
	labelNode(ctx, r, r.Victim(), "true")
	DeferCleanup(func(ctx context.Context) {
		labelNode(ctx, r, r.Victim(), nil)
		labelNode(ctx, r, r.Attacker(), nil)
	})
	r.Put(ctx, fixtures.ServiceAccount(r.Namespace(ctx), operator))
	r.Bind(ctx, "system:serviceaccount:"+r.Namespace(ctx)+":"+operator, "cluster-admin")
	pod := fixtures.Pod("", "", "", fixtures.As(operator), fixtures.WithAccount, func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": operator}
		pod.Spec.NodeSelector = map[string]string{trusted(r): "true"}
	})
	set := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(ctx), Name: operator},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}
	r.Put(ctx, set)
	operatorOn(ctx, r, r.Victim())
}

// labelNode sets or removes the label of a Node as the administrator.
func labelNode(ctx context.Context, r *Run, node string, value any) {
	GinkgoHelper()
	patch := must(json.Marshal(metadata("labels", fields{trusted(r): value})))
	must(r.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}))
}

// operatorOn waits until the operator's pod runs on the node: [Run.Pod].
func operatorOn(ctx context.Context, r *Run, node string) {
	GinkgoHelper()
	Eventually(ctx, func() (bool, error) {
		list, err := r.Client.CoreV1().Pods(r.Namespace(ctx)).List(ctx, metav1.ListOptions{LabelSelector: "app=" + operator})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if pod := &list.Items[i]; pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning &&
				pod.Spec.NodeName == node {
				r.Pod = pod
				return true, nil
			}
		}
		return false, nil
	}).WithTimeout(2*PodStart).WithPolling(500*time.Millisecond).Should(BeTrue(), "the operator runs on %s", node)
	r.Say("The operator's pod %s runs on %s.", r.Pod.Name, node)
}

// bindsAdmin creates a ClusterRoleBinding of the agent's account to cluster-admin.
func bindsAdmin(ctx context.Context, r *Run, who *Identity) Answer {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: r.NewName("e2e-taken")},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: stage.Namespace, Name: agentOf(r)}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	r.Names["binding"] = binding.Name
	afterwards(func(ctx context.Context) error {
		return r.Client.RbacV1().ClusterRoleBindings().Delete(ctx, binding.Name, metav1.DeleteOptions{})
	})
	return r.Send(ctx, who, Create(clusterRoleBindings).With(binding).Stored())
}

var clusterRoleBindings = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")

// expectClusterAdmin expects that an account has all rights by the binding of [bindsAdmin]. Other specs
// grant the account rights at the same time, so the reason must name the binding. If the other chain has
// a binding too, RBAC names one of the two, in no fixed order. RBAC learns of a binding by a watch.
func expectClusterAdmin(ctx context.Context, r *Run, who *Identity) {
	GinkgoHelper()
	everything := Ask("*", schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"})
	Eventually(ctx, func() (string, error) {
		review, err := suite.Review(ctx, who, everything)
		if !review.Allowed {
			return "denied: " + review.Reason, err
		}
		return review.Reason, err
	}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).
		Should(And(HavePrefix("RBAC: allowed"), ContainSubstring(strconv.Quote(r.Names["binding"]))))
	expectSecret(ctx, r, who)
	r.Say("%s is cluster-admin.", who)
}
