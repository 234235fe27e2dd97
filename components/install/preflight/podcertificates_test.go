// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"testing"

	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
)

func TestPodCertificateRequests(t *testing.T) {
	for _, tt := range []struct {
		name, version, gates, emulated string
		level                          Level
		mentions                       string
	}{
		{"1.37, gate set", "v1.37.1", "PodCertificateRequest=true", "", OK, "calls node-restriction"},
		{"1.36, no gates", "v1.36.3", "", "", OK, "is off"},
		{"1.36, another gate", "v1.36.3", "X=true", "", OK, "is off"},
		{"1.36, gate off", "v1.36.3", "PodCertificateRequest=false", "", OK, "is off"},
		{"1.36, gate on", "v1.36.3", "X=true,PodCertificateRequest=true", "", Fail,
			"Remove PodCertificateRequest=true from --feature-gates"},
		{"1.36, all beta gates on", "v1.36.3", "AllBeta=true", "", Fail,
			"Remove AllBeta=true from --feature-gates, or set PodCertificateRequest=false there. Or upgrade"},
		{"1.36, all beta gates on but this one", "v1.36.3", "AllBeta=true,PodCertificateRequest=false", "", OK, "is off"},
		{"1.36, all alpha gates on", "v1.36.3", "AllAlpha=true", "", OK, "is off"},
		{"1.34, all alpha gates on", "v1.34.9", "AllAlpha=true", "", Fail, "Kubernetes 1.34 has these only"},
		{"1.34, all beta gates on", "v1.34.9", "AllBeta=true", "", OK, "is off"},
		{"1.37 that emulates 1.36, gate on", "v1.37.1", "PodCertificateRequest=true", "1.36", Fail, "Kubernetes 1.36"},
		{"1.37 that emulates 1.36 of kube, gate on", "v1.37.1", "PodCertificateRequest=true", "kube=1.36", Fail,
			"Kubernetes 1.36"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := fake.NewClientset(kubeadmObjects()...)
			client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: tt.version}
			server := kubeadmFlags("feature-gates", tt.gates, "emulated-version", tt.emulated)
			findings, err := Run(t.Context(), Input{Profile: "hardened", Client: client, Server: server, Host: fakeHost{}})
			wantOne(t, only(findings, podCertificateCheck), err, tt.level, tt.mentions)
		})
	}
}
