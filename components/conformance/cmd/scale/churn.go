// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

const (
	// podLife is the time between the creation and the deletion of a pod.
	podLife = 30 * time.Second
	// distinct is the number of secrets and of config maps that the pods share.
	distinct = 50
)

// churn creates pods on the nodes in turn and deletes each after its life, as the administrator.
type churn struct {
	admin     kubernetes.Interface
	namespace string
	nodes     []string
	rate      int // pods a second
	results   *results
}

// newChurn creates the namespace of the pods with their secrets and config maps.
func newChurn(ctx context.Context, admin kubernetes.Interface, nodes []string, rate int, r *results) (*churn, error) {
	namespace, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bulkhead-scale-"},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot create a namespace: %w", err)
	}
	c := &churn{admin: admin, namespace: namespace.Name, nodes: nodes, rate: rate, results: r}
	for i := range distinct {
		meta := metav1.ObjectMeta{Name: shared(i)}
		if _, err := admin.CoreV1().Secrets(c.namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: meta, StringData: map[string]string{"password": "x"},
		}, metav1.CreateOptions{}); err != nil {
			return c, fmt.Errorf("cannot create a secret: %w", err)
		}
		if _, err := admin.CoreV1().ConfigMaps(c.namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: meta, Data: map[string]string{"setting": "x"},
		}, metav1.CreateOptions{}); err != nil {
			return c, fmt.Errorf("cannot create a config map: %w", err)
		}
	}
	return c, c.awaitAccount(ctx)
}

// awaitAccount waits for the service account of the pods. A controller creates it.
func (c *churn) awaitAccount(ctx context.Context) error {
	accounts := c.admin.CoreV1().ServiceAccounts(c.namespace)
	exists := func(ctx context.Context) (bool, error) {
		_, err := accounts.Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, exists)
	if err != nil {
		return fmt.Errorf("namespace %s has no service account: is kube-controller-manager ready? %w", c.namespace, err)
	}
	return nil
}

// remove deletes the pods, which no kubelet ends any more, and their namespace.
func (c *churn) remove(ctx context.Context) error {
	at := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	return errors.Join(
		c.admin.CoreV1().Pods(c.namespace).DeleteCollection(ctx, at, metav1.ListOptions{}),
		c.admin.CoreV1().Namespaces().Delete(ctx, c.namespace, metav1.DeleteOptions{}),
	)
}

func shared(i int) string { return fmt.Sprintf("shared-%d", i%distinct) }

// run creates and deletes pods until ctx is done.
func (c *churn) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second / time.Duration(c.rate))
	defer ticker.Stop()
	var pods wait.Group
	defer pods.Wait()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			pods.StartWithContext(ctx, func(ctx context.Context) { c.onePod(ctx, i) })
		}
	}
}

func (c *churn) onePod(ctx context.Context, i int) {
	pod, pods := c.pod(i), c.admin.CoreV1().Pods(c.namespace)
	c.results.call("administrator: create pod", func() error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	select {
	case <-ctx.Done():
	case <-time.After(podLife):
		c.results.call("administrator: delete pod", func() error {
			return unlessGone(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
		})
	}
}

// pod returns a pod that is bound to its node from the start, so that the scheduler is not part of
// the figures.
func (c *churn) pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i)},
		Spec: corev1.PodSpec{
			NodeName:           c.nodes[i%len(c.nodes)],
			ServiceAccountName: "default",
			Containers:         []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10.2"}},
			Volumes: []corev1.Volume{
				{Name: "secret", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: shared(i)},
				}},
				{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: shared(i)},
				}}},
			},
		},
	}
}
