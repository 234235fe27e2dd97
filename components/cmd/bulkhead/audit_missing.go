// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// quietStart is longer than a component needs for its first line.
const quietStart = 10 * time.Minute

// firstOfPodLog asks for the time of the first line only. A time has at most 35 bytes (RFC 3339).
func firstOfPodLog(client kubernetes.Interface) func(context.Context, podLog) (time.Time, error) {
	return func(ctx context.Context, l podLog) (time.Time, error) {
		most := int64(64)
		body, err := client.CoreV1().Pods(metav1.NamespaceSystem).GetLogs(l.pod, &corev1.PodLogOptions{
			Container: l.container, LimitBytes: &most, Timestamps: true,
		}).Stream(ctx)
		if err != nil {
			return time.Time{}, err
		}
		defer body.Close() //nolint:errcheck // it was only read
		line, err := io.ReadAll(io.LimitReader(body, most))
		if err != nil {
			return time.Time{}, err
		}
		text, _, _ := strings.Cut(string(line), " ")
		return time.Parse(time.RFC3339Nano, text)
	}
}

// missing says which part of a log cannot be read any more: the kubelet gives only the newest file of
// a container (pkg/kubelet/kuberuntime/logs), and only the last container but one.
func (p *podLogs) missing(ctx context.Context, l podLog, now time.Time) (notes []string) {
	if l.previous {
		return nil
	}
	begin := now.Add(-p.since)
	if l.restarts > 1 && l.started.After(begin) {
		notes = append(notes, fmt.Sprintf("container %s of pod %s has restarted %d times: the logs before the last restart "+
			"but one are gone", l.container, l, l.restarts))
	}
	if l.started.After(begin) {
		begin = l.started
	}
	first, err := p.first(ctx, l)
	if err != nil || first.Before(begin.Add(quietStart)) {
		return notes // an empty log has no first line
	}
	return append(notes, fmt.Sprintf("the log of pod %s begins at %s, because older parts are in files that Kubernetes does "+
		"not give: `bulkhead audit --metrics` counts what was in them", l, first.UTC().Format(time.RFC3339)))
}
