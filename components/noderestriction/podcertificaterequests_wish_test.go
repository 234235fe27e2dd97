// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestPodCertificateAsProjected(t *testing.T) {
	type spec = certificatesv1.PodCertificateRequestSpec
	const by = "NR-PCR-7"
	const says = deniedCertificate +
		`pod "default/mine" does not mount a podCertificate projected volume with the maxExpirationSeconds and the user annotations of the request [NR-PCR-7]`
	short := projectedCertificate(podSigner)
	short.Projected.Sources[1].PodCertificate.MaxExpirationSeconds = ptr.To(int32(3600))
	short.Projected.Sources[1].PodCertificate.UserAnnotations = map[string]string{"example.com/role": "reader"}
	wishes := func(seconds *int32, annotations map[string]string) func(*spec) {
		return func(s *spec) { s.MaxExpirationSeconds, s.UnverifiedUserAnnotations = seconds, annotations }
	}
	reader := map[string]string{"example.com/role": "reader"}
	long := createsCertificate(wishes(ptr.To(int32(7862400)), reader))
	r := restrict(mineWith(short), enforce(by))
	run(t, r, []row{
		{name: "request as the volume says: admitted", write: createsCertificate(wishes(ptr.To(int32(3600)), reader))},
		{name: "request for longer: denied", write: long, by: by, says: says},
		{name: "request without a time, which is a day: denied", write: createsCertificate(wishes(nil, reader)), by: by,
			says: says},
		{name: "request with another annotation: denied",
			write: createsCertificate(wishes(ptr.To(int32(3600)), map[string]string{"example.com/role": "admin"})), by: by,
			says: says},
		{name: "request without the annotation: denied", write: createsCertificate(wishes(ptr.To(int32(3600)), nil)), by: by,
			says: says},
	})
	run(t, restrict(mineWith(projectedCertificate(podSigner)), enforce(by)), []row{
		{name: "volume without a time, request for a day: admitted",
			write: createsCertificate(wishes(ptr.To(int32(86400)), nil))},
		{name: "volume without a time, request for less: denied", write: createsCertificate(wishes(ptr.To(int32(3600)), nil)),
			by: by, says: says},
	})
	run(t, restrict(mineWith(short, projectedCertificate(podSigner)), enforce(by)), []row{
		{name: "request as the second volume says: admitted", write: createsCertificate()},
	})
	run(t, restrict(mineWith(short)), []row{{name: "rule off, request for longer: admitted", write: long}})
	auditedOnly(t, restrict(mineWith(short), inMode(rules.Audit, by)), long, by)
}
