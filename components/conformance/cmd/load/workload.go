// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// workload is a pod on a worker, with a secret, in a separate namespace.
type workload struct {
	admin           kubernetes.Interface
	node, namespace string
}

const (
	name = "load"
	// pauseImage is present on every kubeadm node of this version, and on nodes with
	// kind/node-image.
	pauseImage = "registry.k8s.io/pause:3.10.2"
)

func newWorkload(ctx context.Context, admin kubernetes.Interface) (*workload, error) {
	node, err := workerNode(ctx, admin)
	if err != nil {
		return nil, err
	}
	namespace, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bulkhead-load-"},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot create a namespace: %w", err)
	}
	w := &workload{admin, node, namespace.Name}
	if err := w.create(ctx); err != nil {
		_ = w.remove(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("cannot create a pod on %s: %w", node, err)
	}
	return w, nil
}

// create creates the secret and the pod. It waits until the kubelet has reported the pod's status:
// then both authorizers know the pod.
func (w *workload) create(ctx context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": "x"}}
	if _, err := w.admin.CoreV1().Secrets(w.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	no := false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName:                     w.node,
		AutomountServiceAccountToken: &no,
		Containers: []corev1.Container{
			{Name: "pause", Image: pauseImage, ImagePullPolicy: corev1.PullIfNotPresent},
		},
		Volumes: []corev1.Volume{{Name: "secret", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: name},
		}}},
	}}
	if _, err := w.admin.CoreV1().Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	for range 120 {
		now, err := w.admin.CoreV1().Pods(w.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(now.Status.ContainerStatuses) > 0 {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return fmt.Errorf("the kubelet of %s did not report the pod within a minute", w.node)
}

func (w *workload) remove(ctx context.Context) error {
	return w.admin.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{})
}

type call struct {
	name string
	make func(context.Context) error
}

// calls are the four most frequent calls of a kubelet. Each write changes a field, so that it is
// stored.
func (w *workload) calls(kubelet kubernetes.Interface) []call {
	core := kubelet.CoreV1()
	n := 0
	nodeCondition := func() []byte {
		// The same as a heartbeat of the kubelet, except for the second.
		n++
		beat := time.Now().Add(time.Duration(n%60) * -time.Second).UTC().Format(time.RFC3339)
		return fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`, beat)
	}
	podCondition := func() []byte {
		n++
		return fmt.Appendf(
			nil,
			`{"status":{"conditions":[{"type":"example.com/load","status":"True","message":"%d"}]}}`,
			n,
		)
	}
	return []call{
		{"get own Node", func(ctx context.Context) error {
			_, err := core.Nodes().Get(ctx, w.node, metav1.GetOptions{})
			return err
		}},
		{"get own pod's secret", func(ctx context.Context) error {
			_, err := core.Secrets(w.namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		}},
		{"patch own Node's status", func(ctx context.Context) error {
			_, err := core.Nodes().
				Patch(ctx, w.node, types.StrategicMergePatchType, nodeCondition(), metav1.PatchOptions{}, "status")
			return err
		}},
		{"patch own pod's status", func(ctx context.Context) error {
			_, err := core.Pods(w.namespace).
				Patch(ctx, name, types.StrategicMergePatchType, podCondition(), metav1.PatchOptions{}, "status")
			return err
		}},
	}
}
