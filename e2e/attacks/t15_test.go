// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T15", Title: "A log collector reads the tokens of its neighbours",
	Source: "GKE GCP-2023-047",
	Effect: "A log collector mounts /var/lib/kubelet/pods. An attacker in it finds the tokens of all pods of its node " +
		"there. With the token of a network agent, it reads the secrets of the whole cluster.",
	Stops: "A token of an account with a scope has only the rights of its node, no matter who uses it.",
	Attempts: []Attempt{{
		Name:   "reading another node's secret with a neighbour's token",
		Effect: "the secret of a pod on the other node is printed",
		By:     neighbour, Rights: readsSecrets, Rule: "NS-SCOPE-1", Text: "[NA-SECRET-1]",
		Prepare: secretsOfBoth,
		Attack:  sends(func(r *Run) Request { return secretNamed(r, r.Victim()) }),
		Show:    showSecret,
		TwinIs:  "a secret of a pod on the own node",
		Twin:    sends(func(r *Run) Request { return secretNamed(r, r.Attacker()) }),
	}},
})

var readsSecrets = []rbacv1.PolicyRule{right("", []string{"get"}, "secrets")}

// neighbour is the attacker in a log collector who takes the token of another pod of the stage.
var neighbour = ofAccount(
	"the token of another DaemonSet's pod, from a directory of the host that a log collector mounts", fromCollector)

// fromCollector starts a log collector, finds the token of an account in it, and uses it there.
func fromCollector(ctx context.Context, r *Run, account string, rights []rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	collector := running(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.WithShell("shell", "while :; do sleep 60; done"),
		withPodsOfHost))
	tokens, err := suite.Exec(ctx, collector, "/bin/sh", "-c", printTokens)
	Expect(err).NotTo(HaveOccurred())
	bearer := must(suite.ReadToken(ctx, pickToken(ctx, tokens, attackersPod(account))))
	r.Grant(ctx, bearer.User, rights...)
	r.Say("The attacker is in a log collector on %s and finds a token of %s.", r.Attacker(), bearer.User)
	return suite.AsBearer(bearer).From(suite.FromPod(collector))
}

// withPodsOfHost mounts the directory of all pods of the node read-only, as root.
func withPodsOfHost(pod *corev1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "pods", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/pods"}}})
	first := &pod.Spec.Containers[0]
	first.VolumeMounts = append(first.VolumeMounts,
		corev1.VolumeMount{Name: "pods", MountPath: "/var/lib/kubelet/pods", ReadOnly: true})
	first.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To[int64](0), RunAsNonRoot: ptr.To(false)}
}
