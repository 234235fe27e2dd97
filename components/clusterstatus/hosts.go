// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const apiServer = "kube-apiserver"

// required are the components of every installation. optional are those of some settings.
var (
	required = []string{host.NodeAuthorizer.Name, host.NodeRestriction.Name, controlplane.CertsContainer}
	optional = []string{controlplane.ApproverContainer, scope.SyncName}
)

// hosts returns the control-plane hosts without their certificates.
func (s *snapshot) hosts(l host.Layout) []Host {
	all := []Host{}
	for _, node := range s.controlPlanes() {
		h := Host{Node: node, State: NotInstalled}
		if pod := s.mirrorPod(apiServer, node); pod != nil {
			h.APIServer = apiServerOf(pod)
		}
		for _, name := range slices.Concat(required, optional) {
			if pod := s.mirrorPod("bulkhead-"+name, node); pod != nil {
				h.Components = append(h.Components, Component{Name: name, Image: imageOf(pod, name), NotReady: notReady(pod),
					Restarts: restarts(pod, name)})
			}
		}
		entry, installed := s.entries[node]
		problem, unreadable := s.bad[node]
		switch {
		case installed:
			h.State, h.Entry = Installed, &entry
		case unreadable:
			h.State, h.Problem = Unreadable, webhook.Loggable(problem.Error())
		case h.APIServer != nil && h.APIServer.AuthorizationConfig == l.AuthorizationConfig():
			h.State = NotRecorded
		}
		all = append(all, h)
	}
	return all
}

func apiServerOf(pod *corev1.Pod) *APIServer {
	var args []string
	if c := container(pod, apiServer); c != nil {
		args = slices.Concat(c.Command, c.Args)
	}
	flag := func(name string) string { return webhook.Loggable(staticpod.FlagValue(args, name)) }
	return &APIServer{
		Image: imageOf(pod, apiServer), NotReady: notReady(pod), Restarts: restarts(pod, apiServer),
		AuthorizationConfig:          flag("authorization-config"),
		AdmissionControlConfigFile:   flag("admission-control-config-file"),
		KubeletCertificateAuthority:  flag("kubelet-certificate-authority"),
		AuthorizationConfigSHA256:    webhook.Loggable(pod.Annotations[apiserver.HashAnnotation]),
		AdmissionControlConfigSHA256: webhook.Loggable(pod.Annotations[apiserver.AdmissionHashAnnotation]),
	}
}

func container(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

func imageOf(pod *corev1.Pod, name string) string {
	if c := container(pod, name); c != nil {
		return webhook.Loggable(c.Image)
	}
	return ""
}

// notReady returns the reason why a pod is not ready. It is empty if the pod is ready.
func notReady(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return ""
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return webhook.Loggable(cmp.Or(w.Reason, "the container waits"))
		}
	}
	return webhook.Loggable(fmt.Sprintf("phase %s", cmp.Or(pod.Status.Phase, corev1.PodUnknown)))
}

// restarts returns the restarts of a container. It has none before its first status.
func restarts(pod *corev1.Pod, name string) Restarts {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != name {
			continue
		}
		r := Restarts{Count: c.RestartCount}
		if ended := c.LastTerminationState.Terminated; ended != nil {
			r.Last = ended.FinishedAt.Time
		}
		return r
	}
	return Restarts{}
}
