// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
)

// helperGrace is how long an installation waits for a static pod of [plan.runHelper].
const helperGrace = time.Minute

func (p *plan) runCerts(ctx context.Context) (bool, error) {
	return p.runHelper(ctx, p.Layout.CertsManifest(), p.certsPod, CertsContainer, fmt.Sprintf(
		"certificates are good for %s, but nothing renews them until it runs", p.Certificates.Validity))
}

// runHelper runs a static pod that Bulkhead works without for a while. The installation does not fail
// if the pod does not start: it says what is missing then.
func (p *plan) runHelper(ctx context.Context, path string, pod []byte, container, missing string) (bool, error) {
	changed, err := p.write(path, pod, 0o600)
	if err != nil {
		return changed, err
	}
	err = p.Until(ctx, min(helperGrace, p.Timeout), "the static pod bulkhead-"+container,
		func(ctx context.Context) error {
			return StaticPod{Layout: p.Layout, MirrorPods: p.MirrorPods, Container: container}.running(ctx, pod)
		})
	if err != nil && ctx.Err() == nil {
		p.Note("%v\n             %s: see `bulkhead status` and `crictl ps -a`", err, missing)
		err = nil
	}
	return changed, err
}

// CertsContainer is the container that renews certificates. ApproverContainer approves the serving
// certificates of kubelets.
const (
	CertsContainer    = "certs"
	ApproverContainer = "kubelet-approver"
)

// StaticPod is a static pod of this host without a health endpoint. Its state is read from the API.
type StaticPod struct {
	Layout     host.Layout
	MirrorPods MirrorPods
	// Container is the name of its container.
	Container string
}

// Ready returns why the pod is not running, or nil if it is ready.
func (r StaticPod) Ready(ctx context.Context) error {
	pod, err := r.pod(ctx)
	if err != nil {
		return err
	}
	return ready(pod)
}

// running also checks that the pod belongs to this manifest. The kubelet may be about to replace an
// older pod.
func (r StaticPod) running(ctx context.Context, manifest []byte) error {
	pod, err := r.current(ctx, manifest)
	if err != nil {
		return err
	}
	return ready(pod)
}

// steady is how long a process must run to count as stable. A process that fails at its start ends
// earlier.
const steady = 30 * time.Second

// upSince is like running, but the pod need not be ready. Its process must have run longer than
// steady.
func (r StaticPod) upSince(ctx context.Context, manifest []byte, now time.Time) bool {
	pod, err := r.current(ctx, manifest)
	return err == nil && slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil && now.Sub(c.State.Running.StartedAt.Time) > steady
	})
}

func (r StaticPod) current(ctx context.Context, manifest []byte) (*corev1.Pod, error) {
	want, err := staticpod.Parse(manifest, r.Container)
	if err != nil {
		return nil, err
	}
	pod, err := r.pod(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range pod.Spec.Containers {
		command := slices.Concat(c.Command, c.Args)
		if c.Name == r.Container && (c.Image != want.Image() || !slices.Equal(command, want.Command())) {
			return nil, errors.New("the kubelet has not restarted it yet")
		}
	}
	return pod, nil
}

func (r StaticPod) pod(ctx context.Context) (*corev1.Pod, error) {
	node := r.Layout.NodeName()
	pod, err := r.MirrorPods.MirrorPod(ctx, "bulkhead-"+r.Container, node)
	if err == nil && pod == nil {
		err = fmt.Errorf("the kubelet of node %s runs no static pod bulkhead-%s", node, r.Container)
	}
	return pod, err
}

// ready returns an error with the kubelet's reason if the pod is not ready.
func ready(pod *corev1.Pod) error {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return fmt.Errorf("pod %s is not ready: %s %s", pod.Name, w.Reason, w.Message)
		}
	}
	return fmt.Errorf("pod %s is not ready: %s", pod.Name, pod.Status.Phase)
}
