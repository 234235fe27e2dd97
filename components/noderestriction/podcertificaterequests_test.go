// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	podSigner         = "example.com/pods"
	deniedCertificate = `podcertificaterequests.certificates.k8s.io "r" is forbidden: `
)

// aCertificate returns a request for a certificate of the pod default/mine, unless edited.
func aCertificate(edits ...func(*certificatesv1.PodCertificateRequestSpec)) *certificatesv1.PodCertificateRequest {
	r := &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: podSigner,
			PodName:    "mine", PodUID: "mine-uid",
			ServiceAccountName: "default", ServiceAccountUID: "default-uid",
			NodeName: "me", NodeUID: "me-uid",
		},
	}
	for _, edit := range edits {
		edit(&r.Spec)
	}
	return r
}

func createsCertificate(edits ...func(*certificatesv1.PodCertificateRequestSpec)) admission.Attributes {
	return write("me", admission.Create, "podcertificaterequests", "", aCertificate(edits...), nil)
}

// projectedCertificate returns a volume that projects a certificate of a signer.
func projectedCertificate(signer string) corev1.Volume {
	return volumeOf(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{DownwardAPI: &corev1.DownwardAPIProjection{}},
		{PodCertificate: &corev1.PodCertificateProjection{SignerName: signer}},
	}}})
}

func TestPodCertificates(t *testing.T) {
	type spec = certificatesv1.PodCertificateRequestSpec
	c := mineWith(volumeOf(corev1.VolumeSource{}), projectedCertificate(podSigner))
	c.pods["default/gone-account"] = aPod("default", "gone-account", "me",
		func(p *corev1.Pod) { p.Spec.ServiceAccountName = "gone" })
	c.pods["default/mirror"] = aMirrorPod("me",
		func(p *corev1.Pod) { p.Namespace, p.Name, p.UID = "default", "mirror", "mirror-uid" })
	of := func(name string) func(*spec) {
		return func(s *spec) { s.PodName, s.PodUID = name, c.pods["default/"+name].UID }
	}
	run(t, restrict(c), []row{
		{name: "create for own pod: allowed", write: createsCertificate()},
		{name: "create with another node's name: denied", write: createsCertificate(func(s *spec) { s.NodeName = "other" }),
			by: "NR-PCR-2", says: deniedCertificate +
				`PodCertificateRequest.Spec.NodeName="other", which is not the requesting node "me" [NR-PCR-2]`},
		{name: "create without a node name: denied",
			write: createsCertificate(func(s *spec) { s.NodeName = "" }), by: "NR-PCR-2",
			says: deniedCertificate +
				`PodCertificateRequest.Spec.NodeName="", which is not the requesting node "me" [NR-PCR-2]`},
		{name: "UID of a deleted Node: denied, may be retried",
			write: createsCertificate(func(s *spec) { s.NodeUID = "old" }), by: "NR-PCR-2", code: 500,
			says: `PodCertificateRequest for pod "default/mine" names node UID "old", ` +
				`inconsistent with the running node ("me-uid") [NR-PCR-2]`},
		{name: "deleted pod: denied, may be retried",
			write: createsCertificate(func(s *spec) { s.PodName = "gone" }), by: "NR-PCR-3", code: 500,
			says: `while retrieving pod "default/gone" named in the PodCertificateRequest: pods "gone" not found [NR-PCR-3]`},
		{name: "recreated pod: denied, may be retried",
			write: createsCertificate(func(s *spec) { s.PodUID = "old" }), by: "NR-PCR-3", code: 500,
			says: `PodCertificateRequest for pod "default/mine" contains pod UID ("old") ` +
				`which differs from running pod "mine-uid" [NR-PCR-3]`},
		{name: "other node's pod: denied", write: createsCertificate(of("theirs")), by: "NR-PCR-3",
			says: deniedCertificate +
				`pod "default/theirs" is not running on node "me" named in the PodCertificateRequest [NR-PCR-3]`},
		{name: "mirror pod: denied", write: createsCertificate(of("mirror")), by: "NR-PCR-3",
			says: deniedCertificate + `pod "default/mirror" is a mirror pod [NR-PCR-3]`},
		{name: "other account: denied",
			write: createsCertificate(func(s *spec) { s.ServiceAccountName = "admin" }), by: "NR-PCR-4",
			says: deniedCertificate +
				`PodCertificateRequest for pod "default/mine" contains serviceAccountName ("admin") ` +
				`that differs from running pod ("default") [NR-PCR-4]`},
		{name: "deleted account: denied, may be retried",
			write: createsCertificate(of("gone-account"), func(s *spec) { s.ServiceAccountName = "gone" }), by: "NR-PCR-4",
			code: 500, says: `while retrieving service account "default/gone" named in the PodCertificateRequest: ` +
				`serviceaccounts "gone" not found [NR-PCR-4]`},
		{name: "recreated account: denied, may be retried",
			write: createsCertificate(func(s *spec) { s.ServiceAccountUID = "old" }), by: "NR-PCR-4", code: 500,
			says: `PodCertificateRequest for pod "default/mine" names service account UID "old", ` +
				`which differs from the running service account ("default-uid") [NR-PCR-4]`},
		{name: "other signer: denied",
			write: createsCertificate(func(s *spec) { s.SignerName = "example.com/admins" }), by: "NR-PCR-5",
			says: deniedCertificate +
				`pod "default/mine" does not mount a podCertificate projected volume for signer "example.com/admins" [NR-PCR-5]`},
	})
}

func TestPodCertificatesAreOnlyCreated(t *testing.T) {
	c := mineWith(projectedCertificate(podSigner))
	one := aCertificate()
	off := func(c *Config) { c.Features.PodCertificateRequest = false }
	run(t, restrict(c, off), []row{
		{name: "feature gate off: denied", write: createsCertificate(), by: "NR-PCR-1",
			says: deniedCertificate + "PodCertificateRequest feature gate is disabled [NR-PCR-1]"},
	})
	run(t, restrict(c), []row{
		{name: "feature gate on: allowed", write: createsCertificate()},
		{name: "update: denied", write: write("me", admission.Update, "podcertificaterequests", "", one, one),
			by: "NR-PCR-1", says: deniedCertificate + "unexpected operation UPDATE [NR-PCR-1]"},
		{name: "delete: denied", write: write("me", admission.Delete, "podcertificaterequests", "", nil, one),
			by: "NR-PCR-1", says: deniedCertificate + "unexpected operation DELETE [NR-PCR-1]"},
		{name: "update the status: denied",
			write: write("me", admission.Update, "podcertificaterequests", "status", one, one),
			by:    "NR-PCR-1", says: deniedCertificate + "unexpected operation UPDATE [NR-PCR-1]"},
		{name: "create the status: denied",
			write: write("me", admission.Create, "podcertificaterequests", "status", one, nil),
			by:    "NR-PCR-1", says: deniedCertificate + "unexpected subresource status [NR-PCR-1]"},
		{name: "no object: denied",
			write: write("me", admission.Create, "podcertificaterequests", "", nil, nil, named("r")), by: "NR-PCR-1",
			says: deniedCertificate + "unexpected type <nil> [NR-PCR-1]"},
		{name: "object of another type: denied",
			write: write("me", admission.Create, "podcertificaterequests", "", aPod("default", "mine", "me"), nil, named("r")),
			by:    "NR-PCR-1", says: deniedCertificate + "unexpected type *v1.Pod [NR-PCR-1]"},
	})
}

// TestPodCertificatesOfTheBeta checks that the same rules apply to v1beta1.
func TestPodCertificatesOfTheBeta(t *testing.T) {
	beta := func(node string) runtime.Object {
		return &certificatesv1beta1.PodCertificateRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"},
			Spec: certificatesv1beta1.PodCertificateRequestSpec{
				SignerName: podSigner, PodName: "mine", PodUID: "mine-uid",
				ServiceAccountName: "default", ServiceAccountUID: "default-uid", NodeName: types.NodeName(node), NodeUID: "me-uid",
				PKIXPublicKey: []byte("key"), //nolint:staticcheck // older servers want it
			},
		}
	}
	run(t, restrict(mineWith(projectedCertificate(podSigner))), []row{
		{name: "beta version, create for own pod: allowed",
			write: write("me", admission.Create, "podcertificaterequests", "", beta("me"), nil)},
		{name: "beta version, another node's name: denied",
			write: write("me", admission.Create, "podcertificaterequests", "", beta("other"), nil), by: "NR-PCR-2",
			says: deniedCertificate +
				`PodCertificateRequest.Spec.NodeName="other", which is not the requesting node "me" [NR-PCR-2]`},
	})
}

func TestPodCertificatesWhenTheClusterDoesNotAnswer(t *testing.T) {
	c := mineWith(projectedCertificate(podSigner))
	delete(c.nodes, "me")
	run(t, restrict(c), []row{
		{name: "Node not found: denied, may be retried", write: createsCertificate(), by: "NR-PCR-2", code: 500,
			says: `while retrieving node "me" named in the PodCertificateRequest: nodes "me" not found [NR-PCR-2]`},
	})
	c.err = errors.New("timeout")
	run(t, restrict(c), []row{
		{name: "failed lookup: denied", write: createsCertificate(), by: "NR-PCR-2",
			says: deniedCertificate + `while retrieving node "me" named in the PodCertificateRequest: timeout [NR-PCR-2]`},
	})
}

func TestGrantedSigners(t *testing.T) {
	right := Right{
		Verb: "request-serviceaccounts-podcertificate-signer", Group: "certificates.k8s.io", Version: "v1",
		Resource: "example.com:pods", Namespace: "default", Name: "default",
	}
	const none = `pod "default/mine" does not mount a podCertificate projected volume for signer `
	z := &fakeAuthorizer{granted: []Right{right}}
	run(t, restrict(mineWith(), grants(z)), []row{
		{name: "granted signer: allowed", write: createsCertificate()},
		{name: "signer that is not granted: denied",
			write: createsCertificate(func(s *certificatesv1.PodCertificateRequestSpec) { s.SignerName = "example.com/admins" }),
			by:    "NR-PCR-5", says: deniedCertificate + none + `"example.com/admins" [NR-PCR-5]`},
	})
	if diff := cmp.Diff(right, z.asked[0]); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	run(t, restrict(mineWith(), grants(&fakeAuthorizer{err: errors.New("timeout")})), []row{
		{name: "failed lookup of the grant: denied", write: createsCertificate(), by: "NR-PCR-5",
			says: deniedCertificate +
				`error authorizing system:node:me to request podcertificaterequests ` +
				`for signer "example.com/pods": timeout [NR-PCR-5]`},
	})
	run(t, restrict(mineWith()), []row{
		{name: "no client to look up the grant: denied", write: createsCertificate(), by: "NR-PCR-5",
			says: deniedCertificate + none + `"example.com/pods" [NR-PCR-5]`},
	})
}

func TestPodCertificateCap(t *testing.T) {
	c := mineWith(projectedCertificate(podSigner))
	three, enforced := configured(configuration.Configuration{Caps: configuration.Caps{PodCertificateRequests: 3}}),
		enforce("NR-PCR-6")
	has := func(count int) { c.counts[counted{PodCertificateRequests, "me"}] = count }

	has(2)
	run(t, restrict(c, three, enforced), []row{{name: "third of three requests: allowed", write: createsCertificate()}})
	has(3)
	run(t, restrict(c, three, enforced),
		[]row{{name: "fourth of three requests: denied", write: createsCertificate(), by: "NR-PCR-6",
			says: deniedCertificate + `node "me" has as many PodCertificateRequests as one node may have: 3 [NR-PCR-6]`}})
	run(t, restrict(c, three), []row{{name: "rule off, fourth request: allowed", write: createsCertificate()}})
	run(t, restrict(c, enforced), []row{{name: "no configuration, fourth request: allowed", write: createsCertificate()}})
	auditedOnly(t, restrict(c, three, inMode(rules.Audit, "NR-PCR-6")), createsCertificate(), "NR-PCR-6")
}

func TestPodCertificateAsProjected(t *testing.T) {
	type spec = certificatesv1.PodCertificateRequestSpec
	const by = "NR-PCR-7"
	const says = deniedCertificate +
		`pod "default/mine" does not mount a podCertificate projected volume ` +
		`with the maxExpirationSeconds and the user annotations of the request [NR-PCR-7]`
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
		{name: "request with the volume's values: admitted", write: createsCertificate(wishes(ptr.To(int32(3600)), reader))},
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
		{name: "request with the second volume's values: admitted", write: createsCertificate()},
	})
	run(t, restrict(mineWith(short)), []row{{name: "rule off, request for longer: admitted", write: long}})
	auditedOnly(t, restrict(mineWith(short), inMode(rules.Audit, by)), long, by)
}
