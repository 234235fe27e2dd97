// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPrintMirrorLabels(t *testing.T) {
	pod := func(namespace string, labels map[string]string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}}
	}
	var out bytes.Buffer
	err := printMirrorLabels(&out, []corev1.Pod{
		pod("monitoring", nil),
		pod("kube-system", map[string]string{"tier": "x", "component": "etcd"}),
		pod("kube-system", map[string]string{"component": "kube-apiserver", "app": "y"}),
	})
	want := `kubectl annotate namespace kube-system --overwrite node.kubernetes.io/mirror.allowed=true ` +
		`node.kubernetes.io/mirror.allowed-label-keys=app,component,tier
kubectl annotate namespace monitoring --overwrite node.kubernetes.io/mirror.allowed=true ` +
		`node.kubernetes.io/mirror.allowed-label-keys=
`
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("error %v; -want +got:\n%s", err, diff)
	}
}
