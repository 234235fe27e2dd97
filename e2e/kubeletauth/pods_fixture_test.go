// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Containers of a pod of these specs.
const (
	// shell writes a line to its log every second, and runs the commands of exec requests.
	shell = "teller"
	// echoContainer answers each line on its standard input.
	echoContainer = "listener"
	// serverContainer answers each line on [serverPort].
	serverContainer = "server"
	serverPort      = "8080"
	// scratch is a writable directory of the shell container.
	scratch = "/scratch"
)

const (
	tickScript   = `while :; do echo tick; sleep 1; done`
	echoScript   = `while read -r line; do echo "heard $line"; done`
	serverScript = `use IO::Socket::INET; $SIG{CHLD} = "IGNORE";
my $listening = IO::Socket::INET->new(LocalPort => ` + serverPort + `, Listen => 8, ReuseAddr => 1) or die $!;
while (my $peer = $listening->accept) { next if fork; while (<$peer>) { print $peer "heard $_" } exit }`
)

// withShell gives the pod the programs of its node, read-only, and a shell script.
func withShell(script string) fixtures.PodTweak { return fixtures.WithShell(shell, script) }

// withCompany adds the echo container and the server container to a pod with a shell.
func withCompany(pod *corev1.Pod) {
	fixtures.Using(scratch[1:], corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})(pod)
	listening, serving := *pod.Spec.Containers[0].DeepCopy(), *pod.Spec.Containers[0].DeepCopy()
	listening.Name, listening.Stdin, listening.Command[2] = echoContainer, true, echoScript
	serving.Name, serving.Command = serverContainer, []string{"/usr/bin/perl", "-e", serverScript}
	pod.Spec.Containers = append(pod.Spec.Containers, listening, serving)
}

// running waits until all containers of a pod run.
func running(ctx context.Context, pod *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	Eventually(ctx, func() (bool, error) {
		got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && isReady(got), err
	}).WithTimeout(PodStart).WithPolling(200*time.Millisecond).Should(BeTrue(), "pod %s is ready", pod.Name)
	return pod
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// containerIDs returns the container IDs of a pod. They change after a restart.
func containerIDs(ctx context.Context, pod *corev1.Pod) []string {
	GinkgoHelper()
	got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	var all []string
	for _, status := range got.Status.ContainerStatuses {
		all = append(all, status.Name+" "+status.ContainerID)
	}
	slices.Sort(all)
	return all
}

// in returns the first arguments of a kubectl command for a container of a pod.
func in(pod *corev1.Pod, verb, container string, flags ...string) []string {
	return slices.Concat([]string{verb, "--namespace=" + pod.Namespace, pod.Name, "--container=" + container}, flags)
}
