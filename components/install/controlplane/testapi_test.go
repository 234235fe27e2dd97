// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// request returns the error of a request that cannot be sent.
func (h *testHost) request(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return h.unreachable
}

func (h *testHost) Version(context.Context) (string, error) { return h.version, nil }

// ReportStatus calls node-restriction if the API server has its registration.
func (h *testHost) ReportStatus(context.Context, string) error {
	h.kubelet()
	asked := h.fromDisk() != "" || h.objects["ValidatingWebhookConfiguration/"+registeredName] != nil
	if !asked {
		return nil
	}
	if h.refusesAll {
		return errors.New("denied by webhook")
	}
	if len(h.components["node-restriction"].manifest) > 0 && !h.uncallable {
		return nil
	}
	if h.ignoresFailures() {
		h.skipped++
		return nil
	}
	return errors.New("failed calling webhook")
}

// ignoresFailures reports the failure policy of node-restriction's webhook.
func (h *testHost) ignoresFailures() bool {
	if object := h.objects["ValidatingWebhookConfiguration/"+registeredName]; object != nil {
		webhooks, _ := object.Object["webhooks"].([]any)
		webhook, _ := webhooks[0].(map[string]any)
		return webhook["failurePolicy"] == "Ignore"
	}
	return strings.Contains(string(read(h.t, h.layout.Registration())), "failurePolicy: Ignore")
}

func (h *testHost) Annotations(ctx context.Context, _ string) (all map[string]string, ours []string, err error) {
	if err = h.request(ctx); err != nil {
		return nil, nil, err
	}
	for key, value := range h.ours {
		if h.annotations[key] == value {
			ours = append(ours, key)
		}
	}
	return maps.Clone(h.annotations), ours, nil
}

func (h *testHost) SetAnnotations(ctx context.Context, _ string, annotations map[string]string) error {
	if err := h.request(ctx); err != nil {
		return err
	}
	for key, value := range h.ours {
		if h.annotations[key] == value {
			delete(h.annotations, key)
		}
	}
	h.ours = maps.Clone(annotations)
	maps.Copy(h.annotations, annotations)
	return nil
}

func (h *testHost) CanaryDecision(context.Context) (cluster.Decision, error) {
	if h.webhookBroken || !h.wired() || len(h.components["node-authorizer"].manifest) == 0 {
		return cluster.Decision{EvaluationError: "connection refused"}, nil
	}
	return cluster.Decision{Reason: "no relationship found [NA-SECRET-4]"}, nil
}

func (h *testHost) Get(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := h.request(ctx); err != nil {
		return nil, err
	}
	return h.objects[o.GetKind()+"/"+o.GetName()].DeepCopy(), nil
}

func (h *testHost) Apply(ctx context.Context, o *unstructured.Unstructured) error {
	if err := h.request(ctx); err != nil {
		return err
	}
	now := o.DeepCopy()
	now.SetResourceVersion("7")
	h.objects[o.GetKind()+"/"+o.GetName()] = now
	return nil
}

func (h *testHost) Delete(ctx context.Context, o *unstructured.Unstructured) error {
	if err := h.request(ctx); err != nil {
		return err
	}
	delete(h.objects, o.GetKind()+"/"+o.GetName())
	return nil
}

func (h *testHost) KubeadmConfig(ctx context.Context) (string, error) {
	if err := h.request(ctx); err != nil {
		return "", err
	}
	return h.kubeadm, nil
}

func (h *testHost) EditKubeadmConfig(ctx context.Context, edit func(string) (string, error)) (bool, error) {
	if err := h.request(ctx); err != nil {
		return false, err
	}
	if h.serverStuck && h.wired() {
		return false, errors.New("connection refused")
	}
	if h.kubeadm == "" {
		return false, nil
	}
	text, err := edit(h.kubeadm)
	if other := h.conflict; other != nil {
		// Another program writes at the same time.
		h.conflict, h.kubeadm = nil, other(h.kubeadm)
		text, err = edit(h.kubeadm)
	}
	if err != nil || text == h.kubeadm {
		return false, err
	}
	if h.kubeadmFixed || h.kubeadmBroken && text != kubeadmText {
		return false, errors.New("admission refuses")
	}
	h.kubeadm = text
	return true, nil
}

func (h *testHost) ComponentNodes(ctx context.Context, name string) ([]string, error) {
	if err := h.request(ctx); err != nil {
		return nil, err
	}
	if len(h.members) > 0 {
		return h.membersWith(name), nil
	}
	nodes := slices.Clone(h.others)
	if name == scope.SyncName {
		nodes = slices.Clone(h.scoped)
	}
	if atomicfile.Exists(filepath.Join(h.layout.Manifests, "bulkhead-"+name+".yaml")) {
		nodes = append(nodes, h.layout.NodeName())
	}
	return nodes, nil
}

func (h *testHost) ControlPlaneNodes(ctx context.Context) ([]string, error) {
	if err := h.request(ctx); err != nil {
		return nil, err
	}
	if len(h.members) > 0 {
		return h.nodes(), nil
	}
	nodes := append(slices.Clone(h.others), h.layout.NodeName())
	if h.bare != "" {
		nodes = append(nodes, h.bare)
	}
	return nodes, nil
}

func (h *testHost) ProxiedNodes(ctx context.Context) ([]string, error) {
	if err := h.request(ctx); err != nil {
		return nil, err
	}
	return h.proxied, nil
}

func (h *testHost) NodesWithout(_ context.Context, selector labels.Selector) (left []string, err error) {
	for node, set := range h.labels {
		if !selector.Matches(set) {
			left = append(left, node)
		}
	}
	return left, nil
}

// MirrorPod returns a static pod as its manifest describes it, from the second request on. A real
// kubelet is also slow.
func (h *testHost) MirrorPod(ctx context.Context, name, node string) (*corev1.Pod, error) {
	if h.deaf {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if h.ends(name) {
		if h.dying != nil {
			h.dying(name)
		}
		return &corev1.Pod{}, nil
	}
	data, err := os.ReadFile(filepath.Join(h.layout.Manifests, name+".yaml"))
	if h.asked++; err != nil || node != h.layout.NodeName() || h.asked < 2 {
		return nil, nil
	}
	pod := decode(h.t, data)
	if !h.certsBroken && !h.broken[pod.Labels["app.kubernetes.io/name"]] {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if h.complains[pod.Labels["app.kubernetes.io/name"]] {
		pod.Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Minute))}}}}}
	}
	return &pod, nil
}

// ends is true while the kubelet ends a pod whose manifest is removed. The directories that the pod
// mounts must still exist.
func (h *testHost) ends(name string) bool {
	if h.ending == 0 || atomicfile.Exists(filepath.Join(h.layout.Manifests, name+".yaml")) {
		return false
	}
	if h.ended[name].IsZero() {
		h.ended[name] = time.Now()
	}
	return time.Since(h.ended[name]) < h.ending
}
