// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletcertificate

import (
	"crypto/x509"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A Node's status may contain any name, but a Node never gets the name of a Service.
func TestNamesThatNoNodeHas(t *testing.T) {
	for _, row := range []struct {
		name string
		can  bool
	}{
		{"kubernetes", false}, {"kubernetes-1", true}, {"Kubernetes.", false},
		{"kubernetes.default", false}, {"kubernetes.example", true},
		{"kubernetes.default.svc", false}, {"a.b.SVC", false}, {"a.b.svc.cluster.local", false}, {"svc.example", true},
		{"a.svcs.example", true},
		{"*.example", false}, {"a.example", true},
	} {
		addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: row.name}}
		problem := OthersProblem(&x509.CertificateRequest{DNSNames: []string{row.name}}, "me", addresses)
		if (problem == "") != row.can {
			t.Errorf("%s: %q, want it to be possible: %v", row.name, problem, row.can)
		}
	}
}
