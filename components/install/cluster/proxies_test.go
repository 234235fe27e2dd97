// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/fake"
)

func proxyPod(node, owner string, ready corev1.ConditionStatus) *corev1.Pod {
	pod := staticPod("proxy-"+node, node, "kubelet-auth-proxy", nil)
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: owner, Controller: new(true)}}
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return pod
}

// Any user can set the label on a pod, so the owner counts.
func TestProxiedNodes(t *testing.T) {
	const loopback, all = `{"kubeletconfig":{"address":"127.0.0.1"}}`, `{"kubeletconfig":{"address":"0.0.0.0"}}`
	for _, tc := range []struct {
		name, owner string
		ready       corev1.ConditionStatus
		configz     string
		err         error
		want        []string
	}{
		{"kubelet on loopback: proxied", proxyDaemonSet, corev1.ConditionTrue, loopback, nil, []string{"worker"}},
		{"kubelet on all addresses: idle proxy", proxyDaemonSet, corev1.ConditionTrue, all, nil, []string{}},
		{"proxy that is not ready", proxyDaemonSet, corev1.ConditionFalse, loopback, nil, []string{}},
		{"pod of another DaemonSet", "other", corev1.ConditionTrue, loopback, nil, []string{}},
		{"pod without an owner", "", corev1.ConditionTrue, loopback, nil, []string{}},
		{"kubelet that does not answer: proxied", proxyDaemonSet, corev1.ConditionTrue, "", errors.New("timeout"),
			[]string{"worker (cannot ask its kubelet: timeout)"}},
		{"kubelet that answers with an escape sequence", proxyDaemonSet, corev1.ConditionTrue, "", errors.New("\x1b[2J"),
			[]string{"worker (cannot ask its kubelet: \uFFFD[2J)"}},
		{"kubelet without an address: proxied", proxyDaemonSet, corev1.ConditionTrue, "{}", nil,
			[]string{`worker (cannot ask its kubelet: its /configz has the address "")`}},
		{"half an answer: proxied", proxyDaemonSet, corev1.ConditionTrue, all[:20], nil,
			[]string{"worker (cannot ask its kubelet: reading its /configz: unexpected end of JSON input)"}},
	} {
		client := &Client{Kubernetes: fake.NewClientset(proxyPod("worker", tc.owner, tc.ready)),
			kubelet: func(context.Context, string, string) ([]byte, error) { return []byte(tc.configz), tc.err }}
		got, err := client.ProxiedNodes(t.Context())
		if diff := cmp.Diff(tc.want, append([]string{}, got...)); diff != "" || err != nil {
			t.Errorf("%s: error %v; -want +got:\n%s", tc.name, err, diff)
		}
	}
}

func TestNodesWithout(t *testing.T) {
	node := func(name, pool string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": pool}}}
	}
	nodes := fake.NewClientset(node("worker-3", "edge"), node("worker-1", "edge"), node("worker-2", "a"))
	client := &Client{Kubernetes: nodes}
	selector, err := labels.Parse("pool!=edge")
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.NodesWithout(t.Context(), selector)
	if diff := cmp.Diff([]string{"worker-1", "worker-3"}, got); diff != "" || err != nil {
		t.Errorf("error %v; -want +got:\n%s", err, diff)
	}
}

// A compromised kubelet does not fill the memory of the installer.
func TestLongAnswersOfKubeletsAreCut(t *testing.T) {
	var sent atomic.Int32 // MiB of the answer with status 500
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/nodes/long/proxy/configz" {
			_, _ = w.Write(make([]byte, 2*mostAnswer))
			return
		}
		if r.URL.Path == "/api/v1/nodes/failing/proxy/configz" {
			if encoding := r.Header.Get("Accept-Encoding"); encoding != "identity" {
				t.Errorf("the request accepts the encoding %q", encoding)
			}
			w.WriteHeader(http.StatusInternalServerError)
			for part := bytes.Repeat([]byte("x"), 1<<20); sent.Load() < 100; sent.Add(1) {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
			return
		}
		http.Error(w, "stopped", http.StatusServiceUnavailable)
	})
	if data, err := client.Configz(t.Context(), "long"); err != nil || len(data) != mostAnswer {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	// The system's buffers take some MiB.
	if _, err := client.Configz(t.Context(), "failing"); err == nil || sent.Load() > 50 {
		t.Errorf("got error %v after %d MiB", err, sent.Load())
	}
	if data, err := client.Configz(t.Context(), "stopped"); err == nil {
		t.Errorf("got %q without an error", data)
	}
}

func TestProxiedNodesAreSorted(t *testing.T) {
	client := &Client{
		Kubernetes: fake.NewClientset(proxyPod("worker-2", proxyDaemonSet, corev1.ConditionTrue),
			proxyPod("worker-1", proxyDaemonSet, corev1.ConditionTrue)),
		kubelet: func(context.Context, string, string) ([]byte, error) {
			return []byte(`{"kubeletconfig":{"address":"127.0.0.1"}}`), nil
		},
	}
	got, err := client.ProxiedNodes(t.Context())
	if diff := cmp.Diff([]string{"worker-1", "worker-2"}, got); diff != "" || err != nil {
		t.Errorf("error %v; -want +got:\n%s", err, diff)
	}
}

func TestAtMost16KubeletsAreAskedAtOneTime(t *testing.T) {
	var running, most atomic.Int32
	nodes := make([]int, 100)
	for i := range nodes {
		nodes[i] = i
	}
	got := EachKubelet(nodes, func(node int) int {
		if now := running.Add(1); now > most.Load() {
			most.Store(now)
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
		return node
	})
	if diff := cmp.Diff(nodes, got); diff != "" || most.Load() > 16 {
		t.Errorf("%d at one time, want at most 16; -want +got:\n%s", most.Load(), diff)
	}
}
