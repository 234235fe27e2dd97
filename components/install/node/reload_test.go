// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	authx509 "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// The authenticator of a kubelet (cmd/kubelet/app/auth.go BuildAuthn) reads a changed bundle again.
// This test needs a real clock, because the authenticator watches the file.
func TestAKubeletReadsAChangedBundleAgain(t *testing.T) {
	n := newTestNode(t)
	k := n.installer()
	for _, dir := range []string{n.layout.Node(), n.layout.KubeletProxy()} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	policy := pki.Policy{Validity: time.Hour, RenewBefore: time.Minute}
	write := func(create bool) {
		t.Helper()
		must(t, os.WriteFile(k.proxyClientCA(), read(t, n.clusterCA()), 0o600))
		_, err := k.keepBundle(create)
		must(t, err)
	}
	former := n.newClusterCA("former")
	_, err := n.layout.KubeletRotator(policy, time.Now).Renew(false)
	must(t, err)
	write(true)

	content, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca-bundle", bundleFile(n.layout))
	must(t, err)
	go content.Run(t.Context(), 1)
	authenticator := authx509.NewDynamic(content.VerifyOptions, authx509.CommonNameUserConversion)
	await := func(client tls.Certificate, want bool) {
		t.Helper()
		leaf, err := x509.ParseCertificate(client.Certificate[0])
		must(t, err)
		request := httptest.NewRequest(http.MethodGet, "/pods", nil)
		request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			_, ok, err := authenticator.AuthenticateRequest(request)
			if ok == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is authenticated: %v, want %v, error is %v", leaf.Subject, ok, want, err)
			}
		}
	}
	await(former, true)
	await(n.client(), true)
	fresh := n.newClusterCA("fresh")
	await(fresh, false)
	write(false)
	await(fresh, true)
	await(former, false)
	await(n.client(), true)
	before := n.client()
	rotator := n.layout.KubeletRotator(policy, time.Now)
	rotator.Accepted = func(client tls.Certificate) error {
		write(false)
		await(client, true)
		await(before, true)
		return nil
	}
	_, err = rotator.Renew(true)
	must(t, err)
	await(n.client(), true)
	await(fresh, true)
}
