// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// payments is the label of the pods of the victims' Service and ReplicaSet.
const payments = "payments"

var _ = tell(Story{
	ID: "T6", Title: "A node's pod takes the traffic of a Service, or the place of a replica",
	Source: "KEP-1314; rbac-police modify_pod_status; antrea-io/antrea#3777",
	Effect: "The node labels a pod of its own with the labels that a Service or a ReplicaSet selects. The Service " +
		"sends its traffic to the attacker. The ReplicaSet deletes a replica, because it has one too many.",
	Stops: "A node changes no label through the status of a pod. Its mirror pods have only labels that their " +
		"namespace allows.",
	Attempts: []Attempt{
		{
			Name: "labelling a pod of a Service through its status", Effect: "the Service's traffic reaches the attacker's pod",
			By: kubelet, Rule: "NR-POD-7", Text: "cannot update labels through pod status",
			Prepare: func(ctx context.Context, r *Run) {
				service(ctx, r)
				listening(ctx, r)
			},
			Attack: labelsItsPod,
			Show:   intercepts,
			TwinIs: "a message in the same status instead of the label",
			Twin:   reportsMessage,
		},
		{
			Name:   "creating a mirror pod with the label of a Service",
			Effect: "the Service's traffic reaches the attacker's pod",
			By:     machine, Rule: "NR-MIRROR-2",
			Prepare: func(ctx context.Context, r *Run) {
				r.Node = r.Env.Node(ctx, r.Own)
				service(ctx, r)
				listening(ctx, r)
			},
			Attack: attractingMirror,
			Show:   intercepts,
			TwinIs: "the same mirror pod without the label",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				pod := fixtures.Pod(r.Namespace(ctx), r.NewName("static"), r.Own, fixtures.Mirror(r.Node))
				return r.Send(ctx, who, Create(api.Pods).In(pod.Namespace).With(pod))
			},
		},
		{
			Name: "labelling a pod of a ReplicaSet through its status", Effect: "the ReplicaSet deletes its own replica",
			By: kubelet, Rule: "NR-POD-7", Text: "cannot update labels through pod status",
			Prepare: func(ctx context.Context, r *Run) {
				listening(ctx, r)
				r.Names["replica"] = replica(ctx, r)
			},
			Attack: labelsItsPod,
			Show: func(ctx context.Context, r *Run, _ Answer) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(ctx), Name: r.Names["replica"]}}
				Expect(r.Objects.Get(ctx, pod.Name, pod.Namespace, pod)).To(
					Or(Succeed(), MatchError(ContainSubstring("not found"))))
				gone(ctx, r, pod)
			},
			TwinIs: "a message in the same status instead of the label",
			Twin:   reportsMessage,
		},
	},
})

// labelsItsPod patches the label of the victims through the status of the attacker's pod.
func labelsItsPod(ctx context.Context, r *Run, who *Identity) Answer {
	return r.Send(ctx, who, Patch(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Sub("status").
		With(labels("app", payments)).Stored())
}

func reportsMessage(ctx context.Context, r *Run, who *Identity) Answer {
	return r.Send(ctx, who, Patch(api.Pods).In(r.Pod.Namespace).Named(r.Pod.Name).Sub("status").
		With(status("message", "well")))
}

// attractingMirror creates a mirror pod with the label, and reports the address of the attacker's
// program as its own.
func attractingMirror(ctx context.Context, r *Run, who *Identity) Answer {
	pod := fixtures.Pod(r.Namespace(ctx), r.NewName("static"), r.Own, fixtures.Mirror(r.Node))
	pod.Labels = map[string]string{"app": payments}
	created := r.Send(ctx, who, Create(api.Pods).In(pod.Namespace).With(pod).Stored())
	if created.Code >= http.StatusBadRequest {
		return created
	}
	return r.Send(ctx, who, Patch(api.Pods).In(pod.Namespace).Named(pod.Name).Sub("status").Stored().With(
		fields{"status": fields{"phase": "Running", "podIP": r.Pod.Status.PodIP,
			"podIPs":     []any{fields{"ip": r.Pod.Status.PodIP}},
			"conditions": []any{fields{"type": "Ready", "status": "True"}, fields{"type": "ContainersReady", "status": "True"}},
		}}))
}

// service creates a Service without a pod.
func service(ctx context.Context, r *Run) {
	GinkgoHelper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(ctx), Name: payments},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": payments},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(listeningPort)}}},
	}
	r.Put(ctx, service)
	r.Names["service"] = service.Spec.ClusterIP
}

const (
	listeningPort = 8080
	caught        = "intercepted"
	// listen answers each connection with a word.
	listen = `use IO::Socket::INET;
my $socket = IO::Socket::INET->new(LocalPort => 8080, Listen => 8, ReuseAddr => 1) or die $!;
while (my $peer = $socket->accept) { print $peer "` + caught + `\n"; close $peer }`
)

// listening starts the attacker's program in a pod on the attacker's node. The pod has no label. On a cluster
// about which nothing is known, the pod has no program.
func listening(ctx context.Context, r *Run) {
	GinkgoHelper()
	var tweaks []fixtures.PodTweak
	if suite.Settings.Profile != Any {
		tweaks = append(tweaks, fixtures.WithShell("listen", "exec perl -e '"+listen+"'"))
	}
	r.Pod = running(ctx, r.Env.Pod(ctx, r.Attacker(), tweaks...))
}

// intercepts expects that a client of the Service reaches the attacker's program.
func intercepts(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	if suite.Settings.Profile == Any {
		r.Say("The traffic is not shown: pods have no shell on a cluster about which nothing is known.")
		return
	}
	client := attackersPod(plain)
	command := fmt.Sprintf("exec 3<>/dev/tcp/%s/80 && head -n 1 <&3", r.Names["service"])
	Eventually(ctx, func() string {
		out, err := suite.Exec(ctx, client, "/usr/bin/timeout", "3", "/bin/bash", "-c", command)
		return fmt.Sprint(out, err)
	}).WithTimeout(PodStart).WithPolling(500 * time.Millisecond).Should(ContainSubstring(caught))
	r.Say("A client connects to the Service payments (%s) and reads %q.", r.Names["service"], caught)
}

// replica creates a ReplicaSet of one pod, on another node, and returns the name of the pod.
func replica(ctx context.Context, r *Run) (name string) {
	GinkgoHelper()
	r.Env.Node(ctx, r.Other)
	selector := map[string]string{"app": payments}
	template := fixtures.Pod("", "", r.Other)
	r.Put(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(ctx), Name: payments},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: template.Spec}},
	})
	Eventually(ctx, func() (int, error) {
		list, err := r.Client.CoreV1().Pods(r.Namespace(ctx)).List(ctx, metav1.ListOptions{LabelSelector: "app=" + payments})
		if err == nil && len(list.Items) > 0 {
			name = list.Items[0].Name
		}
		return len(list.Items), err
	}).WithTimeout(PodStart).WithPolling(200 * time.Millisecond).Should(Equal(1))
	r.Say("The ReplicaSet payments has the replica %s on %s.", name, r.Other)
	return name
}
