// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var podCertificateAsProjected = rules.Rule{
	ID: "NR-PCR-7",
	Description: "If a projected volume of the pod names the signer, a node creates PodCertificateRequests only " +
		"with the maxExpirationSeconds and the user annotations of such a volume.",
	Source: "Bulkhead: a kubelet copies both from the volume (pkg/kubelet/podcertificate/podcertificatemanager.go " +
		"createPodCertificateRequest); signers read them",
	Extension: true,
	Optional:  true,
}

// defaultCertificateSeconds is the API server's default.
const defaultCertificateSeconds = 86400

func (r *Restriction) reviewPodCertificateAsProjected(q *request, pod *corev1.Pod,
	asked podCertificate) *rules.Decision {
	return r.optional(q, podCertificateAsProjected, func() *rules.Decision {
		named := false
		for i := range pod.Spec.Volumes {
			if pod.Spec.Volumes[i].Projected == nil {
				continue
			}
			for _, source := range pod.Spec.Volumes[i].Projected.Sources {
				if source.PodCertificate == nil || source.PodCertificate.SignerName != asked.SignerName {
					continue
				}
				if named = true; asked.asProjected(source.PodCertificate) {
					return nil
				}
			}
		}
		if !named {
			// An administrator has granted the signer: see NR-PCR-5.
			return nil
		}
		return q.forbid(podCertificateAsProjected, fmt.Sprintf(
			"pod %q does not mount a podCertificate projected volume with the maxExpirationSeconds and the user annotations "+
				"of the request", asked.pod()))
	})
}

func (c podCertificate) asProjected(volume *corev1.PodCertificateProjection) bool {
	return certificateSeconds(c.MaxExpirationSeconds) == certificateSeconds(volume.MaxExpirationSeconds) &&
		maps.Equal(c.UnverifiedUserAnnotations, volume.UserAnnotations)
}

func certificateSeconds(seconds *int32) int32 {
	if seconds == nil {
		return defaultCertificateSeconds
	}
	return *seconds
}
