// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusteraddress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

func ipAddress(ip string, parent *networkingv1.ParentReference) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: ip},
		Spec: networkingv1.IPAddressSpec{ParentRef: parent}}
}

func TestService(t *testing.T) {
	client := fake.NewClientset(
		ipAddress("10.96.0.1", &networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "kubernetes"}),
		ipAddress("2001:db8::9",
			&networkingv1.ParentReference{Group: "example.com", Resource: "gateways", Namespace: "n", Name: "g"}),
		ipAddress("10.96.0.3", nil),
	)
	for ip, want := range map[string]string{
		"10.96.0.1": "Service default/kubernetes", "10.96.0.2": "", "2001:db8::9": "gateways n/g",
		"10.96.0.3": "nothing that is named",
	} {
		if got, err := Service(t.Context(), client, ip); err != nil || got != want {
			t.Errorf("%s is that of %q, %v; want %q", ip, got, err, want)
		}
	}
	client.PrependReactor("get", "ipaddresses", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("timeout")
	})
	if got, err := Service(t.Context(), client, "10.96.0.2"); err == nil {
		t.Errorf("a server that does not answer says %q", got)
	}
}

// connect returns a client of an API server that gives the same answer to every request.
func connect(t *testing.T, code int, answer string) (kubernetes.Interface, *httptest.Server) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

// A server without the resource IPAddress also answers 404. This does not mean a free address.
func TestAServerWithoutIPAddresses(t *testing.T) {
	client, _ := connect(t, http.StatusNotFound, "404 page not found")
	if got, err := Service(t.Context(), client, "10.96.0.1"); err == nil ||
		!strings.Contains(err.Error(), "could not find the requested resource") {
		t.Errorf("it says %q, %v", got, err)
	}
	client, _ = connect(t, http.StatusNotFound,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
			`"details":{"name":"10.96.0.1","kind":"ipaddresses"}}`)
	if got, err := Service(t.Context(), client, "10.96.0.1"); err != nil || got != "" {
		t.Errorf("an address that is free: %q, %v", got, err)
	}
}

func endpoints(name, service string, addresses ...string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}},
		Ports:     []discoveryv1.EndpointPort{{Port: ptr.To[int32](6443)}},
	}
}

func TestAPIServer(t *testing.T) {
	client := fake.NewClientset(
		endpoints("kubernetes", "kubernetes", "192.0.2.1", "192.0.2.2", "2001:DB8::1"),
		// A user who may edit the Service can make the slice controller create this slice.
		endpoints("kubernetes-x7k2p", "kubernetes", "192.0.2.3"),
	)
	serving := func(_ context.Context, address string) (*x509.Certificate, error) {
		if address == "192.0.2.2:6443" {
			return &x509.Certificate{DNSNames: []string{"second.example"}, IPAddresses: []net.IP{net.ParseIP("192.0.2.22")}}, nil
		}
		return &x509.Certificate{DNSNames: []string{"kubernetes", "API.example."},
			IPAddresses: []net.IP{net.ParseIP("192.0.2.1"), net.ParseIP("10.96.0.1")}}, nil
	}
	got, err := APIServer(t.Context(), client, serving)
	// The result includes names that only the certificate of the second API server contains.
	want := []string{"10.96.0.1", "192.0.2.1", "192.0.2.2", "192.0.2.22", "2001:db8::1", "api.example", "kubernetes",
		"second.example"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for _, gone := range []string{"", "[2001:DB8::1]:6443"} {
		away := func(ctx context.Context, address string) (*x509.Certificate, error) {
			if address == gone {
				return nil, errors.New("away")
			}
			return serving(ctx, address)
		}
		if got, err := APIServer(t.Context(), client, away); err == nil {
			t.Errorf("without the certificate of %q: %q", gone, got)
		}
	}
	many := endpoints("kubernetes", "kubernetes", "192.0.2.1")
	for i := range MaxServers {
		many.Endpoints = append(many.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("198.51.100.%d", i)}})
	}
	crowded := fake.NewClientset(many)
	if got, err := APIServer(t.Context(), crowded, serving); err == nil {
		t.Errorf("with more than %d endpoints: %q", MaxServers, got)
	}
	client.PrependReactor("get", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("timeout")
	})
	if got, err := APIServer(t.Context(), client, serving); err == nil {
		t.Errorf("without its endpoints: %q", got)
	}
}

func TestServedTo(t *testing.T) {
	// The certificate is visible even if the server denies the request.
	client, server := connect(t, http.StatusForbidden, "{}")
	got, err := ServedTo(client)(t.Context(), "")
	if err != nil || !got.Equal(server.Certificate()) {
		t.Errorf("%v, %v", got, err)
	}
	server.Close()
	if got, err := ServedTo(client)(t.Context(), ""); err == nil {
		t.Errorf("a server that is away shows %v", got.Subject)
	}
	if got, err := ServedTo(fake.NewClientset())(t.Context(), ""); err == nil {
		t.Errorf("without a server: %v", got.Subject)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	client, err = kubernetes.NewForConfig(&rest.Config{Host: plain.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ServedTo(client)(t.Context(), ""); err == nil {
		t.Errorf("without TLS: %v", got.Subject)
	}
}

// ServedTo calls another server at its own address, and the client must trust that server.
func TestServedToAnotherServer(t *testing.T) {
	client, _ := connect(t, http.StatusOK, "{}")
	second := httptest.NewTLSServer(http.NotFoundHandler())
	defer second.Close()
	address := second.Listener.Addr().String()
	got, err := ServedTo(client)(t.Context(), address)
	if err != nil || !got.Equal(second.Certificate()) {
		t.Errorf("%v, %v", got, err)
	}
	second.Close()
	if got, err := ServedTo(client)(t.Context(), address); err == nil {
		t.Errorf("a second server that is away shows %v", got.Subject)
	}
	stranger := strangeServer(t)
	if got, err := ServedTo(client)(t.Context(), stranger); err == nil {
		t.Errorf("a server of another authority shows %v", got.Subject)
	}
}

// strangeServer serves with a certificate that no client of these tests trusts.
func strangeServer(t *testing.T) (address string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
