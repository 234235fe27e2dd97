// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// podStatusCommand is the argument with which this program runs beside Prometheus.
	podStatusCommand = "pod-status"
	podStatusPort    = 9091
)

// servePodStatus serves the one metric of kube-state-metrics that alerts need, with its name and
// labels.
func servePodStatus(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr: fmt.Sprintf(":%d", podStatusPort), ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			pods, err := client.CoreV1().Pods(systemNamespace).List(req.Context(), metav1.ListOptions{})
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, podStatus(pods.Items))
		}),
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// statuses are the values of a condition.
var statuses = []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}

// podStatus returns the condition Ready of pods, as kube-state-metrics does.
func podStatus(pods []corev1.Pod) string {
	var b strings.Builder
	b.WriteString("# TYPE kube_pod_status_ready gauge\n")
	for _, pod := range pods {
		for _, condition := range pod.Status.Conditions {
			if condition.Type != corev1.PodReady {
				continue
			}
			for _, status := range statuses {
				value := 0
				if condition.Status == status {
					value = 1
				}
				fmt.Fprintf(&b, "kube_pod_status_ready{namespace=%q,pod=%q,uid=%q,condition=%q} %d\n", pod.Namespace, pod.Name,
					pod.UID, strings.ToLower(string(status)), value)
			}
		}
	}
	return b.String()
}
