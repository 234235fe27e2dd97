// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// joinRequest is the request of a kubelet that joins as node me, approved.
func joinRequest(t *testing.T, at time.Time, change func(*certificatesv1.CertificateSigningRequest)) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:me"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	asked := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "node-csr-x", CreationTimestamp: metav1.NewTime(at)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Username: "system:bootstrap:abcdef",
			Groups:  []string{"system:bootstrappers:kubeadm:default-node-token", "system:authenticated"},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	asked.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	change(asked)
	return object(t, asked)
}

func TestLastJoined(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name   string
		change func(*certificatesv1.CertificateSigningRequest)
		counts bool
	}{
		{"approved request of a bootstrapper", func(*certificatesv1.CertificateSigningRequest) {}, true},
		{"request that is not approved", func(r *certificatesv1.CertificateSigningRequest) {
			r.Status.Conditions = nil
		}, false},
		{"request that is denied", func(r *certificatesv1.CertificateSigningRequest) {
			r.Status.Conditions[0].Type = certificatesv1.CertificateDenied
		}, false},
		{"renewal by the node", func(r *certificatesv1.CertificateSigningRequest) {
			r.Spec.Username, r.Spec.Groups = "system:node:me", []string{"system:nodes", "system:authenticated"}
		}, false},
		{"request that is not PEM", func(r *certificatesv1.CertificateSigningRequest) {
			r.Spec.Request = []byte("x")
		}, false},
	} {
		w := newWorld(t, list(signingPath, joinRequest(t, at, tc.change)))
		want := time.Time{}
		if tc.counts {
			want = at
		}
		if got, err := w.LastJoined(t.Context(), "me"); !got.Equal(want) || err != nil {
			t.Errorf("%s: %v, %v; want %v", tc.name, got, err, want)
		}
		if got, err := w.LastJoined(t.Context(), "m"); !got.IsZero() || err != nil {
			t.Errorf("%s, of another node: %v, %v", tc.name, got, err)
		}
	}
}

func TestLastJoinedReadsAllPages(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	as := func(*certificatesv1.CertificateSigningRequest) {}
	items := append(many(pageSize, anyItem), joinRequest(t, at.Add(time.Hour), as), joinRequest(t, at, as))
	w := newWorld(t, list(signingPath, items...))
	if got, err := w.LastJoined(t.Context(), "me"); !got.Equal(at.Add(time.Hour)) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	const selector = "fieldSelector=spec.signerName%3Dkubernetes.io%2Fkube-apiserver-client-kubelet"
	if asked := w.api.requests(); len(asked) != 2 || !strings.Contains(asked[0], selector) {
		t.Errorf("asked %q", asked)
	}
}

func TestLastJoinedFailsIfThereAreTooManyRequests(t *testing.T) {
	w := newWorld(t, list(signingPath, many(MaxCounted+1, anyItem)...))
	if _, err := w.LastJoined(t.Context(), "me"); err == nil || !strings.Contains(err.Error(), "more than 5000 objects") {
		t.Errorf("error is %v", err)
	}
	w = newWorld(t, answers("403"))
	if _, err := w.LastJoined(t.Context(), "me"); err == nil ||
		!strings.Contains(err.Error(), "certificate requests of kubelets that join") {
		t.Errorf("error is %v", err)
	}
}
