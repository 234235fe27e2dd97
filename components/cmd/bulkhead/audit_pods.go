// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	proxyDaemonSet = "bulkhead-kubelet-auth-proxy"
	// mostIgnored is how many pods a note names.
	mostIgnored = 5
)

// webhookLogs are the components in static pods that report findings.
var webhookLogs = map[string]auditreport.LogSource{
	host.NodeAuthorizer.Name: auditreport.NodeAuthorizerLog, host.NodeRestriction.Name: auditreport.NodeRestrictionLog,
}

// list returns the logs of the components that report findings. Those of the webhooks come first: a
// report is bounded, and a compromised node must not fill it before these are read. notes say what is
// not read.
func (p *podLogs) list(ctx context.Context) (logs []podLog, notes []string, err error) {
	pods, err := p.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: partOf})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list the pods of Bulkhead in kube-system: %w; use credentials that may list "+
			"pods, or give --logs=FILE", err)
	}
	controlPlanes, err := p.controlPlanes(ctx)
	if err != nil {
		return nil, nil, err
	}
	webhooks, proxies, ignored := logsOfPods(pods.Items, controlPlanes)
	if len(ignored) > 0 {
		notes = append(notes, ignoredNote(ignored))
	}
	switch {
	case len(webhooks)+len(proxies)+len(ignored) == 0:
		return nil, nil, errors.New("kube-system has no pods of Bulkhead: run `bulkhead install --mode=audit` first, or " +
			"give --audit-log=FILE, which works before it is installed")
	case len(webhooks) == 0:
		// A worker cannot cause this: it cannot delete the pods of a control plane.
		p.incomplete = true
		notes = append(notes, "no control-plane node has a pod of node-authorizer or node-restriction, so their findings "+
			"are missing. A control-plane node is a Node with the label "+clusterstatus.ControlPlaneLabel)
	}
	return append(webhooks, proxies...), notes, nil
}

// logsOfPods returns the logs that are read, and the names of pods that only look like pods of Bulkhead.
func logsOfPods(pods []corev1.Pod, controlPlanes map[string]bool) (webhooks, proxies []podLog, ignored []string) {
	for i := range pods {
		pod := &pods[i]
		switch container, source := sourceOf(pod, controlPlanes); {
		case container == proxyContainer:
			proxies = append(proxies, logsOfPod(pod, container, source)...)
		case container != "":
			webhooks = append(webhooks, logsOfPod(pod, container, source)...)
		case slices.ContainsFunc(pod.Spec.Containers, reportsFindings):
			ignored = append(ignored, webhook.Loggable(pod.Name))
		}
	}
	return webhooks, proxies, ignored
}

func (p *podLogs) controlPlanes(ctx context.Context) (map[string]bool, error) {
	nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: clusterstatus.ControlPlaneLabel})
	if err != nil {
		return nil, fmt.Errorf("cannot list the control-plane nodes: %w; use credentials that may list nodes, or give "+
			"--logs=FILE", err)
	}
	names := map[string]bool{}
	for i := range nodes.Items {
		names[nodes.Items[i].Name] = true
	}
	return names, nil
}

// sourceOf returns the container whose log is read, and what is accepted of it. It returns no container
// for a pod that a node may have created: its kubelet answers with any text as the log. A node can
// create only mirror pods on itself, with any label, name of a container and beginning of their name.
func sourceOf(pod *corev1.Pod, controlPlanes map[string]bool) (container string, source auditreport.LogSource) {
	node := pod.Spec.NodeName
	owner := metav1.GetControllerOf(pod)
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if !mirror && node != "" && owner != nil && owner.Kind == "DaemonSet" && owner.Name == proxyDaemonSet {
		return proxyContainer, auditreport.ProxyLog(node)
	}
	if !controlPlanes[node] {
		return "", source
	}
	for name, source := range webhookLogs {
		if clusterstatus.IsMirrorPod(pod, "bulkhead-"+name, node) {
			return name, source
		}
	}
	return "", source
}

// reportsFindings reports whether a container has the name of a component that reports findings.
func reportsFindings(c corev1.Container) bool {
	_, is := webhookLogs[c.Name]
	return is || c.Name == proxyContainer
}

func ignoredNote(names []string) string {
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), mostIgnored)], ", ")
	if more := len(names) - mostIgnored; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "these pods look like pods of Bulkhead, but a node may have created them, so their logs were not read: " +
		text + ". Read are static pods on control-plane nodes, and pods of the DaemonSet " + proxyDaemonSet
}

// logsOfPod returns the log of the container, and that of the container before the last restart.
func logsOfPod(pod *corev1.Pod, container string, source auditreport.LogSource) (logs []podLog) {
	current := podLog{pod: pod.Name, container: container, source: source}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != container {
			continue
		}
		if status.RestartCount > 0 {
			last := podLog{pod: pod.Name, container: container, source: source, previous: true}
			if ended := status.LastTerminationState.Terminated; ended != nil {
				last.started = ended.StartedAt.Time
			}
			logs = append(logs, last)
		}
		if status.State.Running != nil {
			current.started = status.State.Running.StartedAt.Time
		}
	}
	return append(logs, current)
}
