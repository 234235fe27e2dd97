// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// quietStart is longer than a component needs for its first line.
	quietStart = 10 * time.Minute
	// firstTimeout bounds the question for one log, and mostLate the pods that the note names.
	firstTimeout = 10 * time.Second
	mostLate     = 5
)

// firstOfPodLog asks for the time of the first line only. A time has at most 35 bytes (RFC 3339).
func firstOfPodLog(client kubernetes.Interface) func(context.Context, podLog) (time.Time, error) {
	return func(ctx context.Context, l podLog) (time.Time, error) {
		most := int64(64)
		body, err := client.CoreV1().Pods(metav1.NamespaceSystem).GetLogs(l.pod, &corev1.PodLogOptions{
			Container: l.container, Previous: l.previous, LimitBytes: &most, Timestamps: true,
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

// begins are the times from which on the logs of each pod were read.
type begins map[string]time.Time

// add asks when a log begins: with its container, or later, because Kubernetes gives only the newest
// file of a container (pkg/kubelet/kuberuntime/logs). An answer that cannot be used counts as now: the
// log may be new and empty.
func (b begins) add(ctx context.Context, l podLog, now time.Time,
	first func(context.Context, podLog) (time.Time, error)) {
	ctx, cancel := context.WithTimeout(ctx, firstTimeout)
	defer cancel()
	begin, err := first(ctx, l)
	switch {
	case err != nil || begin.After(now):
		begin = now
	case begin.Before(l.started.Add(quietStart)):
		begin = l.started
	}
	if known, ok := b[l.pod]; !ok || begin.Before(known) {
		b[l.pod] = begin
	}
}

// note names the pods whose logs begin later than they should. It is empty if there is none.
func (b begins) note(since time.Time) string {
	var late []string
	for pod, begin := range b {
		if begin.After(since.Add(quietStart)) {
			late = append(late, podLog{pod: pod}.String()+" "+begin.UTC().Format(time.RFC3339))
		}
	}
	if len(late) == 0 {
		return ""
	}
	slices.Sort(late)
	text := strings.Join(late[:min(len(late), mostLate)], ", ")
	if more := len(late) - mostLate; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "logs begin later than --since, so earlier findings are not in them: " + text + ". For all requests since a " +
		"component has started, read its metrics with --metrics=FILE"
}
