// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// workload is a pod on a worker, with a secret, in a separate namespace.
type workload struct {
	admin           kubernetes.Interface
	node, namespace string
	// pod is the UID of the pod.
	pod types.UID
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
	w := &workload{admin: admin, node: node, namespace: namespace.Name}
	if err := w.create(ctx); err != nil {
		_ = w.remove(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("cannot create a pod on %s: %w", node, err)
	}
	return w, nil
}

// create creates the secret and the pod. It waits until the kubelet has reported that the pod runs:
// then both authorizers know the pod.
func (w *workload) create(ctx context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": "x"}}
	if _, err := w.admin.CoreV1().Secrets(w.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := w.createAccount(ctx); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: w.node, ServiceAccountName: name,
		Containers: []corev1.Container{
			{Name: "pause", Image: pauseImage, ImagePullPolicy: corev1.PullIfNotPresent},
		},
		Volumes: []corev1.Volume{{Name: "secret", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: name},
		}}},
	}}
	created, err := w.admin.CoreV1().Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	w.pod = created.UID
	if _, err := w.admin.CoreV1().Events(w.namespace).Create(ctx, w.event(name), metav1.CreateOptions{}); err != nil {
		return err
	}
	for range 120 {
		now, err := w.admin.CoreV1().Pods(w.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.Status.Phase == corev1.PodRunning {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return fmt.Errorf("the kubelet of %s did not run the pod within a minute", w.node)
}

func (w *workload) remove(ctx context.Context) error {
	return w.admin.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{})
}

type call struct {
	name string
	make func(context.Context) error
	// few means that the call is made less often, because it is slow.
	few bool
}

// calls are the ten most frequent calls of a kubelet. Each write changes a field, so that it is
// stored. They are safe for concurrent use.
func (w *workload) calls(kubelet kubernetes.Interface) []call {
	core, leases := kubelet.CoreV1(), kubelet.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	var n atomic.Int64
	return []call{
		{name: "get own Node", make: func(ctx context.Context) error {
			_, err := core.Nodes().Get(ctx, w.node, metav1.GetOptions{})
			return err
		}},
		{name: "get own lease", make: func(ctx context.Context) error {
			_, err := leases.Get(ctx, w.node, metav1.GetOptions{})
			return err
		}},
		{name: "get own pod", make: func(ctx context.Context) error {
			_, err := core.Pods(w.namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		}},
		{name: "get own pod's secret", make: func(ctx context.Context) error {
			_, err := core.Secrets(w.namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		}},
		{name: "create token for own pod", make: func(ctx context.Context) error {
			_, err := core.ServiceAccounts(w.namespace).CreateToken(ctx, name, w.tokenRequest(), metav1.CreateOptions{})
			return err
		}},
		{name: "patch own lease", make: func(ctx context.Context) error {
			_, err := leases.Patch(ctx, w.node, types.MergePatchType, renewal(n.Add(1)), metav1.PatchOptions{})
			return err
		}},
		{name: "patch own Node's status", make: func(ctx context.Context) error {
			_, err := core.Nodes().Patch(ctx, w.node, types.StrategicMergePatchType, heartbeat(n.Add(1)), metav1.PatchOptions{},
				"status")
			return err
		}},
		{name: "patch own pod's status", make: func(ctx context.Context) error {
			_, err := core.Pods(w.namespace).Patch(ctx, name, types.StrategicMergePatchType, podCondition(n.Add(1)),
				metav1.PatchOptions{}, "status")
			return err
		}},
		{name: "create event", make: func(ctx context.Context) error {
			_, err := core.Events(w.namespace).Create(ctx, w.event(fmt.Sprintf("load-%d", n.Add(1))), metav1.CreateOptions{})
			return err
		}},
		{name: "patch event", make: func(ctx context.Context) error {
			_, err := core.Events(w.namespace).Patch(ctx, name, types.StrategicMergePatchType,
				fmt.Appendf(nil, `{"count":%d}`, n.Add(1)), metav1.PatchOptions{})
			return err
		}},
	}
}

// heartbeat is what a kubelet sends, except that its time is n seconds after a fixed one: time.Now is the same for all
// calls of one second, and a patch without changes is not stored.
func heartbeat(n int64) []byte {
	beat := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second).Format(time.RFC3339)
	return fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`, beat)
}

func renewal(n int64) []byte {
	now := time.Now().Add(time.Duration(n) * time.Microsecond).UTC().Format(metav1.RFC3339Micro)
	return fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now)
}

func podCondition(n int64) []byte {
	return fmt.Appendf(nil,
		`{"status":{"conditions":[{"type":"example.com/load","status":"True","message":"%d"}]}}`, n)
}

func (w *workload) tokenRequest() *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: w.pod},
	}}
}

// event is an event of the kubelet about the pod.
func (w *workload) event(called string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: called},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: name, UID: w.pod,
		},
		Reason: "Load", Message: "load", Type: corev1.EventTypeNormal, Count: 1,
		Source:         corev1.EventSource{Component: "kubelet", Host: w.node},
		FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
		ReportingController: "kubelet", ReportingInstance: w.node,
	}
}
