// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// firstSidePort is the lowest port of second proxies. Each process of a run has its own range of
// sidePorts ports. Each proxy needs one port for requests and one for health.
const (
	firstSidePort = 21000
	sidePorts     = 100
)

// SideProxy is a second kubelet-auth-proxy on a node, in front of the same kubelet. Program, image,
// rights and files are those of the first proxy. The port is different, and flags may be different.
// It runs until the end of the spec, or of the container whose BeforeAll calls this.
type SideProxy struct {
	// Flags replace flags of the same name.
	Flags []string
	// Account is another service account of kube-system, with other rights.
	Account string
	// Directories are additional host directories, mounted at the same path.
	Directories []string
	// Writable are the Directories that are mounted writable.
	Writable []string
}

// Run starts the proxy and waits until it is ready.
func (p SideProxy) Run(ctx context.Context, e *Env, node string) *Port {
	ginkgo.GinkgoHelper()
	beside, err := e.KubeletPort(ctx, node)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	host, _, err := net.SplitHostPort(beside.Address)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	number := e.sidePort()
	pod := p.pod(ctx, e, node, number)
	e.Put(ctx, pod)
	gomega.Eventually(ctx, func() (bool, error) {
		got, err := e.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && podReady(got), err
	}).WithTimeout(PodStart).WithPolling(200*time.Millisecond).Should(gomega.BeTrue(), "the second proxy %s is ready",
		pod.Name)
	return &Port{
		Address: net.JoinHostPort(host, strconv.Itoa(number)), Node: node, Guarded: true,
		roots: beside.roots, pod: pod.Name, health: number + 1,
	}
}

// sidePort returns a port that no other process of this run uses. This process reuses it only after
// many other proxies.
func (c *Cluster) sidePort() int {
	c.sides++
	return firstSidePort + sidePorts*ginkgo.GinkgoParallelProcess() + 2*c.sides%sidePorts
}

// pod returns a pod of the DaemonSet with the differences of p.
func (p SideProxy) pod(ctx context.Context, e *Env, node string, number int) *corev1.Pod {
	ginkgo.GinkgoHelper()
	set, err := e.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, KubeletProxy, metav1.GetOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	pod := &corev1.Pod{Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.Namespace, e.NewName("e2e-proxy")
	pod.Spec.NodeName = node
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	if p.Account != "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = p.Account, ""
	}
	first := &pod.Spec.Containers[0]
	// Do not share the first proxy's state of revocation lists.
	first.Command = withFlags(first.Command, []string{"--client-crl-state="})
	first.Command = withFlags(first.Command, slices.Concat(p.Flags, []string{
		fmt.Sprintf("--secure-port=%d", number), fmt.Sprintf("--health-port=%d", number+1),
	}))
	// The kubelet would not run two pods with one host port.
	first.Ports = nil
	for _, probe := range []*corev1.Probe{first.StartupProbe, first.LivenessProbe, first.ReadinessProbe} {
		if probe != nil && probe.HTTPGet != nil {
			probe.HTTPGet.Port = intstr.FromInt(number + 1)
		}
	}
	for i, directory := range slices.Concat(p.Directories, p.Writable) {
		name := fmt.Sprintf("e2e-%d", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: directory, Type: ptr.To(corev1.HostPathDirectory)},
		}})
		first.VolumeMounts = append(first.VolumeMounts,
			corev1.VolumeMount{Name: name, MountPath: directory, ReadOnly: i < len(p.Directories)})
	}
	return pod
}

// withFlags returns a command line in which some flags have another value.
func withFlags(command, flags []string) []string {
	name := func(flag string) string { before, _, _ := strings.Cut(flag, "="); return before }
	kept := slices.DeleteFunc(slices.Clone(command), func(word string) bool {
		return slices.ContainsFunc(flags, func(flag string) bool { return name(flag) == name(word) })
	})
	return append(kept, flags...)
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
