// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

const (
	podCertificateCheck = "PodCertificateRequests"
	podCertificateGate  = "PodCertificateRequest"
)

// podCertificateFindings checks that node-restriction is called for PodCertificateRequests. Its
// registration names only v1, which kube-apiserver has from 1.37 on. An older server that has only
// v1beta1 does not call the webhook.
func podCertificateFindings(_ context.Context, in Input) ([]Finding, error) {
	info, err := in.Client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("cannot read the version of kube-apiserver: %w", err)
	}
	v, err := version.ParseGeneric(servedVersion(in.Server, info.GitVersion))
	if err != nil {
		return nil, fmt.Errorf("cannot read the version of kube-apiserver: %w", err)
	}
	if !v.LessThan(version.MustParseGeneric("1.37.0")) {
		return []Finding{{OK, podCertificateCheck, "kube-apiserver calls node-restriction for these"}}, nil
	}
	gate := gateOfPodCertificates(in.Server, v)
	if gate == "" {
		return []Finding{{OK, podCertificateCheck, "kube-apiserver does not have these: feature gate " +
			podCertificateGate + " is off"}}, nil
	}
	return []Finding{{Fail, podCertificateCheck, fmt.Sprintf("Kubernetes %d.%d has these only in a version before v1, "+
		"and kube-apiserver does not call node-restriction for that. So the rules NR-PCR-*, NR-SIZE and NR-FINALIZER do not "+
		"apply to them. Remove %s=true from --feature-gates, or set %s=false there. Or upgrade the control plane to 1.37",
		v.Major(), v.Minor(), gate, podCertificateGate)}}, nil
}

// servedVersion is the version whose APIs the server has: --emulated-version, or its own version.
func servedVersion(server Server, own string) string {
	emulated, _ := server.Arg("emulated-version")
	emulated = strings.TrimPrefix(emulated, "kube=")
	if _, err := version.ParseGeneric(emulated); err != nil {
		return own
	}
	return emulated
}

// gateOfPodCertificates returns the name in --feature-gates that turns these objects on. It is empty if
// they are off. The gate is alpha in 1.34, and beta but off by default in 1.35 and 1.36.
func gateOfPodCertificates(server Server, v *version.Version) string {
	stage := "AllBeta"
	if v.LessThan(version.MustParseGeneric("1.35.0")) {
		stage = "AllAlpha"
	}
	for _, gate := range []string{podCertificateGate, stage} {
		if on, said := server.Gate(gate); said {
			if on {
				return gate
			}
			return ""
		}
	}
	return ""
}
