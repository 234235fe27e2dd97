// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// The periods are the defaults of a kubelet: a lease lasts 40 seconds and is renewed after a
// quarter of that, and a status that has not changed is reported every five minutes
// (nodeLeaseDurationSeconds and nodeStatusReportFrequency of KubeletConfiguration).
const (
	leaseDuration = 40 * time.Second
	leaseRenewal  = leaseDuration / 4
	statusReport  = 5 * time.Minute
)

// kubelet makes the calls of a kubelet for its Node, its lease and its pods. It runs no container.
type kubelet struct {
	node    string
	client  kubernetes.Interface
	results *results

	mu   sync.Mutex
	pods map[types.UID]*podState
}

// podState is locked during the calls for the pod: a kubelet makes them one after the other.
type podState struct {
	mu             sync.Mutex
	started, ended bool
}

func newKubelet(node string, client kubernetes.Interface, results *results) *kubelet {
	return &kubelet{node: node, client: client, results: results, pods: map[types.UID]*podState{}}
}

// register creates the Node and its lease, as the node.
func (k *kubelet) register(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: k.node,
		// Without the label kubernetes.io/os, DaemonSets place no pods here.
		Labels: map[string]string{corev1.LabelHostname: k.node},
	}}
	if _, err := k.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cannot create Node %s: %w", k.node, err)
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: k.node},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &k.node,
			LeaseDurationSeconds: ptr.To(int32(leaseDuration.Seconds())),
			RenewTime:            ptr.To(metav1.NowMicro()),
		},
	}
	if _, err := k.leases().Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cannot create the lease of %s: %w", k.node, err)
	}
	return k.report(ctx)
}

// run makes the kubelet's calls until ctx is done. Kubelets begin at different times, as they do in
// a cluster.
func (k *kubelet) run(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(k.client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName=" + k.node }))
	var pods wait.Group
	changed := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok {
			pods.StartWithContext(ctx, func(ctx context.Context) { k.sync(ctx, pod) })
		}
	}
	// An informer that has not started returns no error.
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) },
	})
	factory.StartWithContext(ctx)
	var periodic wait.Group
	periodic.StartWithContext(ctx, func(ctx context.Context) {
		every(ctx, leaseRenewal, func() { k.results.call("renew lease", func() error { return k.renew(ctx) }) })
	})
	every(ctx, statusReport, func() { k.results.call("patch Node's status", func() error { return k.report(ctx) }) })
	periodic.Wait()
	factory.Shutdown()
	pods.Wait()
}

// every calls f at a random time within the first period, and then once in each period.
func every(ctx context.Context, period time.Duration, f func()) {
	timer := time.NewTimer(rand.N(period)) //nolint:gosec // no secret
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(period)
			f()
		}
	}
}

func (k *kubelet) renew(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	_, err := k.leases().Patch(ctx, k.node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (k *kubelet) report(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady",`+
		`"lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
	_, err := k.client.CoreV1().Nodes().Patch(ctx, k.node, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status")
	return err
}

// sync starts a new pod, and ends a deleted pod.
func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	state := k.pods[pod.UID]
	if state == nil {
		state = &podState{}
		k.pods[pod.UID] = state
	}
	k.mu.Unlock()
	state.mu.Lock()
	defer state.mu.Unlock()
	if !state.started {
		state.started = true
		k.start(ctx, pod)
	}
	if pod.DeletionTimestamp != nil && !state.ended {
		state.ended = true
		k.end(ctx, pod)
	}
}

// start reads what the pod mounts, requests its token, and reports that it runs.
func (k *kubelet) start(ctx context.Context, pod *corev1.Pod) {
	core := k.client.CoreV1()
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.Secret != nil:
			k.results.call("get secret", func() error {
				_, err := core.Secrets(pod.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
				return err
			})
		case volume.ConfigMap != nil:
			k.results.call("get config map", func() error {
				_, err := core.ConfigMaps(pod.Namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
				return err
			})
		}
	}
	k.results.call("create token", func() error {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{
				APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
			},
		}}
		_, err := core.ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request,
			metav1.CreateOptions{})
		return unlessGone(err)
	})
	k.results.call("patch pod's status", func() error { return k.setStatus(ctx, pod, corev1.PodRunning) })
}

// end reports that the pod has ended, and deletes it.
func (k *kubelet) end(ctx context.Context, pod *corev1.Pod) {
	k.results.call("patch pod's status", func() error { return k.setStatus(ctx, pod, corev1.PodSucceeded) })
	k.results.call("delete pod", func() error {
		err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		return unlessGone(err)
	})
}

func (k *kubelet) setStatus(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	ready := corev1.ConditionFalse
	if phase == corev1.PodRunning {
		ready = corev1.ConditionTrue
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":%q,"conditions":[{"type":"Ready","status":%q}]}}`,
		pod.UID, phase, ready)
	_, err := k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return unlessGone(err)
}

// unlessGone ignores that the pod no longer exists.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (k *kubelet) leases() coordinationclient.LeaseInterface {
	return k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
}
