// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
)

// Each component is asked at the port that its static pod has.
func TestComponentsHaveThePortsOfTheirManifests(t *testing.T) {
	const health = "--health-port="
	got := components(10466)
	for name, address := range got {
		if name == "kubelet-auth-proxy" {
			continue
		}
		pod := programtest.StaticPod(t, name+"/static-pod.yaml")
		port := strings.TrimPrefix(address, "127.0.0.1:")
		if !slices.Contains(pod.Spec.Containers[0].Command, health+port) {
			t.Errorf("%s is asked at %s, and has the command %q", name, address, pod.Spec.Containers[0].Command)
		}
	}
	// The other static pods serve no metrics.
	for _, name := range []string{"certs", "scope-sync", "kubelet-approver"} {
		command := strings.Join(programtest.StaticPod(t, name+"/static-pod.yaml").Spec.Containers[0].Command, " ")
		if strings.Contains(command, health) {
			t.Errorf("%s has a health port, and is not asked for metrics: %s", name, command)
		}
	}
	if len(got) != 3 || got["kubelet-auth-proxy"] != "127.0.0.1:10466" {
		t.Errorf("components %v", got)
	}
}
