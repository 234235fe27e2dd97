// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// authenticating starts a server that authenticates as a kubelet does. It reads the file again when
// it changes (cmd/kubelet/app/auth.go BuildAuthn). It answers 200 or 401.
func authenticating(t *testing.T, clientCAFile string) (url string) {
	t.Helper()
	content, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca-bundle", clientCAFile)
	if err != nil {
		t.Fatal(err)
	}
	go content.Run(t.Context(), 1)
	authenticator := x509.NewDynamic(content.VerifyOptions, x509.CommonNameUserConversion)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, ok, err := authenticator.AuthenticateRequest(r); err != nil || !ok || who.User.GetName() != "client" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// ask sends a request on a new connection and returns its status.
func ask(ctx context.Context, url string, client tls.Certificate) (int, error) {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{client},
		InsecureSkipVerify: true,
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, errors.Join(err, answer.Body.Close())
}

// Every request with the certificate in use is authenticated: before, during and after a renewal.
func TestNoRequestFailsDuringARenewal(t *testing.T) {
	now := time.Now()
	k := pinnedKeeper(t, &now)
	renew(t, k, false)
	leaf := k.Leaves[0]
	url := authenticating(t, leaf.Trust)
	var group sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	var asked atomic.Int64
	group.Go(func() {
		for ctx.Err() == nil {
			client, err := tls.LoadX509KeyPair(leaf.CertFile, leaf.KeyFile)
			if err != nil {
				continue // only one of the two files is new for some microseconds
			}
			if code, err := ask(context.WithoutCancel(ctx), url, client); err != nil || code != http.StatusOK {
				t.Errorf("request %d is answered %d, %v", asked.Load(), code, err)
			}
			asked.Add(1)
		}
	})
	former, err := tls.LoadX509KeyPair(leaf.CertFile, leaf.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	await := func(client tls.Certificate, want int) error {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			code, err := ask(t.Context(), url, client)
			if err != nil || code == want {
				return err
			}
			if time.Now().After(deadline) {
				return errors.New("not in time")
			}
		}
	}
	k.Accepted = func(client tls.Certificate) error { return await(client, http.StatusOK) }
	for range 10 {
		renew(t, k, true)
		// Wait for two requests. A request with a certificate from two renewals ago would correctly
		// get 401.
		for before := asked.Load(); asked.Load() < before+2; {
			time.Sleep(time.Millisecond)
		}
	}
	stop()
	group.Wait()
	if err := await(former, http.StatusUnauthorized); err != nil {
		t.Errorf("the first certificate is still accepted: %v", err)
	}
}
